"""The check, rules and explain commands: exit codes, stdout for data, stderr for the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from speckv_debug.checks import RULES
from speckv_debug.cli import main

Build = Callable[..., Any]


def test_clean(record: Build, verify: Build, capsys: pytest.CaptureFixture[str]) -> None:
    path = record(verify()).path
    assert main(["check", str(path), "--rule", "ACC-COUNT"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("✓ ")
    assert err == f"next: speckv-debug inspect {path}\n"


def test_findings(record: Build, verify: Build, capsys: pytest.CaptureFixture[str]) -> None:
    path = record(verify(), verify(step=7, bonus_token=4)).path
    assert main(["check", str(path), "--rule", "acc-shift", "--format", "json"]) == 1
    out, err = capsys.readouterr()
    assert [(f["rule"], f["step"]) for f in json.loads(out)["findings"]] == [("ACC-SHIFT", 7)]
    assert err == f"next: speckv-debug inspect {path} --at 7\n"
    both = ["--rule", "ACC-SHIFT", "--rule", "ACC-COUNT"]
    assert main(["check", str(path), *both, "--ignore", "ACC-SHIFT", "--replay", "off"]) == 0


def test_the_next_command_can_be_typed(
    record: Build, verify: Build, capsys: pytest.CaptureFixture[str]
) -> None:
    path = record(verify()).path.rename(record(verify()).path.parent / "a b\x1b;c.speckv")
    shown = f"$'{path.parent}/a b\\x1b;c.speckv'"
    assert main(["check", str(path), "--rule", "ACC-COUNT"]) == 0
    assert capsys.readouterr().err == f"next: speckv-debug inspect {shown}\n"
    assert main(["inspect", str(path)]) == 2
    err = capsys.readouterr().err
    assert f"speckv-debug check {shown}, or speckv-debug report {shown}" in err


@pytest.mark.parametrize("command", ["check", "report"])
@pytest.mark.parametrize("how", ["on", "only", "off"])
def test_replay_can_be_switched(command: str, how: str, record: Build, verify: Build) -> None:
    assert main([command, str(record(verify()).path), "--replay", how]) in (0, 1, 3)


def test_nothing_to_judge(record: Build, verify: Build, capsys: pytest.CaptureFixture[str]) -> None:
    path = record(verify(predict=None, bonus_token=None)).path
    assert main(["check", str(path), "--rule", "ACC-SHIFT"]) == 3
    out, err = capsys.readouterr()
    assert out.startswith("? ")
    assert err == f"next: speckv-debug info {path}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rule", "ACC-CUONT"], "ACC-COUNT"),
        (["--ignore", "nonsense"], "speckv-debug rules"),
        (["--replay", "only", "--rule", "ACC-SHIFT"], "ACC-SHIFT is a law, which --replay only leaves out"),
    ],
)
def test_mistakes(
    record: Build, verify: Build, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["check", str(record(verify()).path), *arguments]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert not out
    assert "Traceback" not in err


def test_no_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "nowhere.speckv")]) == 2
    assert "nowhere.speckv" in capsys.readouterr().err


def test_a_raising_rule_shows_its_traceback_when_asked(
    record: Build, verify: Build, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(batch: object) -> None:
        raise ValueError("no such thing")

    path = str(record(verify()).path)
    monkeypatch.setitem(RULES, "ACC-COUNT", replace(RULES["ACC-COUNT"], check=broken))
    assert main(["check", path, "--rule", "ACC-COUNT"]) == 3
    assert "Traceback" not in capsys.readouterr().err
    assert main(["check", path, "--rule", "ACC-COUNT", "--verbose"]) == 3
    assert "ValueError: no such thing" in capsys.readouterr().err


def test_rules_lists_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(RULES)
    assert main(["rules", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed[0] == {"id": "ACC-COUNT", "severity": "error", "law": RULES["ACC-COUNT"].law}


@pytest.mark.parametrize("rule", RULES)
def test_explain_says_law_needs_and_where_to_look(rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", rule.lower()]) == 0
    out = capsys.readouterr().out
    found = RULES[rule]
    assert out.startswith(f"{rule} ({found.severity})\n\n{found.law}\n")
    assert found.look_at in out
    assert all(need in out for need in found.needs)


def test_explain_suggests_the_nearest_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "MOV-PIAR"]) == 2
    assert "Did you mean MOV-PAIR?" in capsys.readouterr().err


@pytest.mark.parametrize("rule", ["", "NOPE"])
def test_nothing_is_suggested_where_nothing_is_near(rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", rule]) == 2
    err = capsys.readouterr().err
    assert f"there is no rule {rule!r}" in err and "Did you mean" not in err and "rules` lists all" in err
