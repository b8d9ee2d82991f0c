"""Every rule has a small recording that keeps its law, one that breaks it, and one that can't be judged by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from speckv_debug.checks import RULES
from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult, Severity
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording

FOLDER = Path(__file__).parents[2] / "recordings" / "rules"


def judge(rule: str, kind: str, tmp_path: Path) -> CheckResult:
    source = FOLDER / rule / f"{kind}.jsonl"
    assert source.exists(), f"{rule} lacks {source}"
    import_jsonl(source, tmp_path / "x.speckv")
    return check(Recording.open(tmp_path / "x.speckv"))


@pytest.mark.parametrize("rule", RULES)
def test_kept(rule: str, tmp_path: Path) -> None:
    result = judge(rule, "pass", tmp_path)
    assert not [finding for finding in result.findings if finding.severity is not Severity.NOTE]
    assert result.checked[rule] > 0
    assert rule not in {unknown.rule for unknown in result.unknown}


@pytest.mark.parametrize("rule", RULES)
def test_broken(rule: str, tmp_path: Path) -> None:
    result = judge(rule, "fail", tmp_path)
    serious = [finding for finding in result.findings if finding.severity is not Severity.NOTE]
    roots = [finding for finding in serious if finding.cause is None]
    assert {finding.rule for finding in roots} == {rule}
    assert all(f.message and f.expected and f.actual for f in roots)


@pytest.mark.parametrize("rule", RULES)
def test_unknown(rule: str, tmp_path: Path) -> None:
    result = judge(rule, "unknown", tmp_path)
    assert rule not in {finding.rule for finding in result.findings}
    assert result.checked[rule] == 0
    assert sum(unknown.instances for unknown in result.unknown if unknown.rule == rule) > 0


def test_no_recording_without_its_rule() -> None:
    assert sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir()) == sorted(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_its_law_is_plain_text(rule: str) -> None:
    """Terminal and report show it as it stands."""
    assert "`" not in RULES[rule].law
