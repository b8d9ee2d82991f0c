"""Which engines reported, and what can be known about why none did."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from speckv_debug.cli.handshake import python_of, reasons, reported

ENVIRONMENT = {"PATH": os.environ["PATH"]}
pytestmark = pytest.mark.usefixtures("outside_of_the_repository")


def report(out: Path, label: str, content: object) -> None:
    (out / label).mkdir(parents=True)
    (out / label / "process.json").write_text(json.dumps(content))


def executable(path: Path, first_line: str) -> Path:
    path.write_text(first_line + "\n")
    path.chmod(0o755)
    return path


def pretend_installed(folder: Path, version: str, *plugins: str) -> dict[str, str]:
    """An environment in which every Python sees that version of sglang, and those plugins."""
    facts = folder / f"sglang-{version}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n")
    lines = [f"{name} = some.module:register" for name in plugins]
    (facts / "entry_points.txt").write_text("\n".join(["[sglang.srt.plugins]", *lines, ""]))
    return {**ENVIRONMENT, "PYTHONPATH": str(folder)}


def test_each_process_folder_with_a_process_file_has_reported(tmp_path: Path) -> None:
    report(
        tmp_path,
        "tp0-pp0-dp0-1",
        {"engine": "sglang", "engine_version": "0.5.23", "hooks": {"a": None, "b": "x"}},
    )
    (tmp_path / "tp1-pp0-dp0-2").mkdir()
    (found,) = reported(tmp_path)
    assert str(found) == "sglang 0.5.23 (tp0-pp0-dp0-1)"
    assert found.hooked


@pytest.mark.parametrize(
    ("hooks", "hooked"), [({"a": None}, False), ({}, False), (None, False), ({"a": None, "b": "x"}, True)]
)
def test_a_hook_that_resolved_means_that_something_is_recorded(
    tmp_path: Path, hooks: object, hooked: bool
) -> None:
    report(tmp_path, "tp0", {"engine": "sglang", "hooks": hooks})
    assert reported(tmp_path)[0].hooked is hooked


@pytest.mark.parametrize(
    ("file", "hooked"),
    [("alloc/0.parquet", True), ("spool/accept.arrows", True), ("note/0.parquet", False)],
)
def test_so_do_rows_but_not_the_note_of_a_failure(tmp_path: Path, file: str, hooked: bool) -> None:
    report(tmp_path, "tp0", {"engine": "sglang", "hooks": {}})
    path = tmp_path / "tp0" / file
    path.parent.mkdir()
    path.touch()
    assert reported(tmp_path)[0].hooked is hooked


def test_a_damaged_process_file_still_proves_that_an_engine_was_there(tmp_path: Path) -> None:
    (tmp_path / "tp0").mkdir()
    (tmp_path / "tp0" / "process.json").write_text("{")
    assert [str(process) for process in reported(tmp_path)] == ["an engine (tp0)"]


def test_names_from_a_process_file_cannot_drive_the_terminal(tmp_path: Path) -> None:
    report(tmp_path, "tp0", {"engine": "\x1b[2Jsglang"})
    assert "\x1b" not in str(reported(tmp_path)[0])


def test_the_python_of_a_command_is_found_directly_and_through_a_script(tmp_path: Path) -> None:
    assert python_of([sys.executable, "x.py"], ENVIRONMENT) == sys.executable
    direct = executable(tmp_path / "direct", f"#!{sys.executable} -u")
    assert python_of([str(direct)], ENVIRONMENT) == sys.executable
    through_env = executable(tmp_path / "through-env", "#!/usr/bin/env python3")
    found = python_of([str(through_env)], ENVIRONMENT)
    assert found is not None and Path(found).name == "python3"


@pytest.mark.parametrize("first_line", ["#!/bin/sh", "", "#!"])
def test_the_python_of_anything_else_is_unknown(tmp_path: Path, first_line: str) -> None:
    assert python_of([str(executable(tmp_path / "tool", first_line))], ENVIRONMENT) is None
    assert python_of(["no-such-program"], ENVIRONMENT) is None


def test_a_python_without_sglang_is_named(bare_python: str) -> None:
    assert reasons([bare_python], ENVIRONMENT, 0) == [
        f"sglang is not among the packages of {bare_python}, the target's Python."
    ]


def test_a_release_without_plugins_is_named(bare_python: str, tmp_path: Path) -> None:
    (reason,) = reasons([bare_python], pretend_installed(tmp_path, "0.5.9"), 0)
    assert reason == f"SGLang 0.5.9 in {bare_python} loads no plugins: 0.5.12 is the first that does."


def test_a_python_without_our_plugin_is_named(bare_python: str, tmp_path: Path) -> None:
    (reason,) = reasons([bare_python], pretend_installed(tmp_path, "0.5.23rc1", "other"), 0)
    assert reason.startswith(f"speckv-debug is not installed in {bare_python}")


def test_the_allow_list_is_judged_as_sglang_does(bare_python: str, tmp_path: Path) -> None:
    whole = pretend_installed(tmp_path, "0.5.23", "speckv_debug")
    (left_out,) = reasons([bare_python], {**whole, "SGLANG_PLUGINS": "one, two"}, 0)
    assert "SGLANG_PLUGINS=one, two" in left_out
    for allowed in ("one, speckv_debug", ""):
        (other,) = reasons([bare_python], {**whole, "SGLANG_PLUGINS": allowed}, 0)
        assert "SGLANG_PLUGINS" not in other


def test_where_nothing_is_certain_the_exit_code_is_a_hint(bare_python: str, tmp_path: Path) -> None:
    whole = pretend_installed(tmp_path, "0.5.23", "speckv_debug")
    early, never = reasons([bare_python], whole, 9)
    assert "ended with exit code 9" in early
    assert "speckv_debug.attach" in never
    assert reasons([bare_python], whole, 0) == [never]
    killed, _ = reasons([bare_python], whole, 137)
    assert killed.startswith("The target was killed by signal 9 (SIGKILL), perhaps before")
