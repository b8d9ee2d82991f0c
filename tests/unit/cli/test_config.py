"""What a project's configuration changes, and that each mistake in it names file and key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from speckv_debug.checks import RULES
from speckv_debug.cli import main

Build = Callable[..., Any]
HEAD = "[tool.speckv-debug]\n"


@pytest.fixture
def broken(record: Build, verify: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A recording that breaks ACC-SHIFT alone of the rules that the tests run; the project's folder is the current one."""
    (tmp_path / "project" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project" / "below")
    return str(record(verify(), verify(step=7, request="b", row=2, bonus_token=4)).path)


def write(text: str, name: str = "../pyproject.toml") -> Path:
    Path(name).write_text(text)
    return Path(name)


def checked(path: str, *options: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = main(["check", path, "--replay", "off", "--format", "json", *options])
    return code, json.loads(capsys.readouterr().out)


def test_a_rule_that_the_project_leaves_out(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(broken, capsys=capsys)[0] == 1
    write('[project]\nname = "x"\n' + HEAD + 'disable = ["acc-shift"]\n')
    code, told = checked(broken, capsys=capsys)
    assert (code, told["disabled"], "ACC-SHIFT" in told["checked"]) == (0, ["ACC-SHIFT"], False)
    assert checked(broken, "--no-config", capsys=capsys)[0] == 1
    assert main(["check", broken, "--replay", "off"]) == 0
    assert "disabled ACC-SHIFT, by the configuration" in capsys.readouterr().out


def test_what_is_asked_for_by_name_runs(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(HEAD + 'disable = ["ACC-SHIFT"]')
    code, told = checked(broken, "--rule", "ACC-SHIFT", capsys=capsys)
    assert (code, told["disabled"]) == (1, [])


def test_another_severity(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    for word, code in (("warning", 1), ("error", 1), ("note", 0)):
        write(HEAD + f'severity = {{ ACC-SHIFT = "{word}" }}')
        found, told = checked(broken, capsys=capsys)
        assert (found, {f["severity"] for f in told["findings"] if f["rule"] == "ACC-SHIFT"}) == (
            code,
            {word},
        )
        assert told["lowered"] == ({"ACC-SHIFT": 1} if word == "note" else {})
    assert main(["check", broken, "--replay", "off"]) == 0
    assert "lowered  1 finding to notes (ACC-SHIFT 1), by the configuration" in capsys.readouterr().out


def test_the_nearest_file_that_has_the_table(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(HEAD + 'disable = ["ACC-SHIFT"]')
    write("[tool.other]\nkey = 1\n", "pyproject.toml")
    assert checked(broken, capsys=capsys)[0] == 0
    write(HEAD, "pyproject.toml")
    assert checked(broken, capsys=capsys)[0] == 1


def test_a_file_by_name(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(HEAD + 'disable = ["ACC-SHIFT"]', "other.toml")
    assert checked(broken, capsys=capsys)[0] == 1
    assert checked(broken, "--config", "other.toml", capsys=capsys)[0] == 0


def test_a_baseline_beside_the_file(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(HEAD + 'baseline = "known.json"')
    assert main(["check", broken, "--replay", "off", "--write-baseline"]) == 0
    assert Path("../known.json").exists() and "wrote" in capsys.readouterr().err
    code, told = checked(broken, capsys=capsys)
    assert (code, told["known"]) == (0, {"findings": {"ACC-SHIFT": 1}, "unmatched": 0})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool", "is no TOML"),
        ("[tool]\nspeckv-debug = 1", "tool.speckv-debug is a number, not a table"),
        (HEAD + "disabel = []", "tool.speckv-debug.disabel is no key of this table"),
        (HEAD + 'disable = "X"', "tool.speckv-debug.disable is a text, not a list"),
        (HEAD + "disable = [1]", "tool.speckv-debug.disable[0] is a number"),
        (HEAD + 'disable = ["ACC-COUNT", "ACC-SHFT"]', "tool.speckv-debug.disable[1] names a rule that does not exist"),
        (HEAD + "severity = []", "tool.speckv-debug.severity is a list, not a table"),
        (HEAD + 'severity = { ACC-COUNT = "bad" }', "tool.speckv-debug.severity.ACC-COUNT is 'bad'"),
        (HEAD + "severity = { ACC-COUNT = 1 }", "tool.speckv-debug.severity.ACC-COUNT is 1"),
        (HEAD + 'severity = { NOPE = "note" }', "tool.speckv-debug.severity.NOPE names a rule"),
        (HEAD + "baseline = 1979-05-27", "tool.speckv-debug.baseline is a date"),
        (HEAD + 'baseline = ""', "tool.speckv-debug.baseline is a text, not the path"),
        (HEAD + f"disable = {json.dumps(list(RULES))}", "tool.speckv-debug.disable leaves no rule to run"),
    ],
)  # fmt: skip
def test_mistakes(text: str, said: str, broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(text)
    assert main(["check", broken]) == 2
    out, err = capsys.readouterr()
    assert (out, "pyproject.toml: " in err or "pyproject.toml is" in err, said in err) == ("", True, True), (
        err
    )
    assert err.count("\n") == 2, "what to do is said below"


def test_a_file_that_can_not_be_used(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("[tool.other]", "other.toml")
    for name, said in (("missing.toml", "can't be read"), ("other.toml", "has no table [tool.speckv-debug]")):
        assert main(["check", broken, "--config", name]) == 2
        assert name in (err := capsys.readouterr().err) and said in err
    Path("latin.toml").write_bytes(b"# \xff\n")
    assert main(["check", broken, "--config", "latin.toml"]) == 2


def test_a_baseline_that_is_not_there(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(HEAD + 'baseline = "known.json"')
    assert main(["check", broken]) == 2
    err = capsys.readouterr().err
    assert "pyproject.toml: tool.speckv-debug.baseline: " in err and "known.json can't be read" in err


def test_the_nearest_rule_and_key_are_named(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    for text, near in ((HEAD + 'disable = ["ACC-SHFT"]', "ACC-SHIFT"), (HEAD + "disabel = []", "disable")):
        write(text)
        assert main(["check", broken]) == 2
        assert f"Did you mean {near}?" in capsys.readouterr().err
