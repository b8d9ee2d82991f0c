"""`report` and `inspect` judge as `check` does: rules left out, other severities and known findings are theirs, too."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from speckv_debug.cli import inspect, main
from speckv_debug.cli.policy import policy_of
from speckv_debug.recording.reader import Recording

Build = Callable[..., Any]
HEAD = "[tool.speckv-debug]\n"


@pytest.fixture
def broken(record: Build, verify: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording that breaks ACC-SHIFT; its folder is the current one."""
    monkeypatch.chdir(tmp_path)
    found: Path = record(verify(), verify(step=7, request="b", row=2, bonus_token=4)).path
    return found


def reported(path: Path, *options: str) -> str:
    assert main(["report", str(path), "-o", "r.html", "-f", "--replay", "off", *options]) == 0
    return Path("r.html").read_text()


def inspected(path: Path, *options: str) -> Any:
    """What the inspector's check says."""
    parser = argparse.ArgumentParser()
    inspect.configure(parser)
    args = parser.parse_args([str(path), *options])
    inspection = inspect._inspection(Recording.open(path), policy_of(args))
    try:
        return inspection.check(lambda laws_so_far: None)
    finally:
        inspection.stop()


def test_a_rule_that_the_project_leaves_out(broken: Path) -> None:
    Path("pyproject.toml").write_text(HEAD + 'disable = ["ACC-SHIFT"]')
    page = reported(broken)
    assert "✓ nothing found" in page and "disabled: ACC-SHIFT, by the configuration" in page
    assert "✗ found" in reported(broken, "--no-config")
    result = inspected(broken)
    assert (result.disabled, "ACC-SHIFT" in result.checked) == (("ACC-SHIFT",), False)
    assert inspected(broken, "--no-config").verdict == "findings"


def test_another_severity(broken: Path) -> None:
    Path("other.toml").write_text(HEAD + 'severity = { ACC-SHIFT = "note", RPL-BONUS = "note" }')
    assert "lowered: 1 finding to notes (ACC-SHIFT 1)" in reported(broken, "--config", "other.toml")
    found = inspected(broken, "--config", "other.toml")
    assert {str(f.severity) for f in found.findings if f.rule == "ACC-SHIFT"} == {"note"}


def test_known_findings(broken: Path) -> None:
    assert main(["check", str(broken), "--baseline", "k.json", "--write-baseline"]) == 0
    page = reported(broken, "--baseline", "k.json")
    assert "✓ nothing new found" in page and "1 finding of the baseline left out (ACC-SHIFT 1)" in page
    result = inspected(broken, "--baseline", "k.json")
    assert result.verdict == "clean" and result.known.findings["ACC-SHIFT"] == 1


@pytest.mark.parametrize("command", ["report", "inspect"])
def test_what_can_not_be_used_is_refused_before_anything_begins(
    command: str, broken: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert main([command, str(broken), "--baseline", "k.json"]) == 2
    assert "k.json can't be read" in capsys.readouterr().err
    Path("pyproject.toml").write_text(HEAD + 'baseline = "k.json"')
    assert main([command, str(broken)]) == 2
    assert "pyproject.toml: tool.speckv-debug.baseline: " in capsys.readouterr().err
