"""Each line of doctor: right, wrong with a remedy, or unknown; nothing is started."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from speckv_debug import __version__
from speckv_debug.cli import main
from speckv_debug.cli.diagnosis import Line, diagnose
from speckv_debug.collectors.sglang.releases import promised

Usage = namedtuple("Usage", "total used free")
PYTHON = [sys.executable, "serve.py"]
pytestmark = pytest.mark.usefixtures("outside_of_the_repository")


def pretend_installed(
    folder: Path, version: str, plugins: dict[str, str], modules: bool = True
) -> dict[str, str]:
    """An environment in which every Python sees that SGLang: its dist-info, plugins, and functions to hook."""
    facts = folder / f"sglang-{version}.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n")
    lines = [f"{name} = {place}" for name, place in plugins.items()]
    (facts / "entry_points.txt").write_text("\n".join(["[sglang.srt.plugins]", *lines, ""]))
    (folder / "sglang").mkdir()
    (folder / "sglang" / "__init__.py").write_text("raise SystemExit('the engine is not to be imported')\n")
    for target in promised(version) if modules else ():
        write_function(folder, target.candidates[0])
    own = Path(__file__).parents[3]
    return {"PATH": os.environ["PATH"], "PYTHONPATH": f"{folder}{os.pathsep}{own}"}


def write_function(folder: Path, place: str) -> None:
    """A module with that function, or a class with that method."""
    module, _, path = place.partition(":")
    file = folder.joinpath(*module.split(".")).with_suffix(".py")
    file.parent.mkdir(parents=True, exist_ok=True)
    outer, _, method = path.partition(".")
    text = file.read_text() if file.exists() else ""
    if not method:
        text += f"def {outer}(*args): ...\n"
    elif f"class {outer}:\n" in text:
        text = text.replace(f"class {outer}:\n", f"class {outer}:\n    def {method}(self, *args): ...\n")
    else:
        text += f"class {outer}:\n    def {method}(self, *args): ...\n"
    file.write_text(text)


OURS = {"speckv_debug": "speckv_debug.collectors.sglang.plugin:register"}


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """SGLang 0.5.23 with our plugin and another one."""
    return pretend_installed(tmp_path / "site", "0.5.23", OURS | {"other": "other:register"})


def line(name: str, environment: dict[str, str], out: Path, command: list[str] = PYTHON) -> Line:
    """The line of that name."""
    return next(each for each in diagnose(command, environment, out) if each.name == name)


def test_all_is_well(installed: dict[str, str], tmp_path: Path) -> None:
    lines = list(diagnose(PYTHON, installed, tmp_path / "new.speckv"))
    assert [each.name for each in lines] == [
        "python", "sglang", "plugin", "hooks", "allow-list", "output", "room"
    ]  # fmt: skip
    assert [each for each in lines if each.state != "ok"] == []
    assert line("sglang", installed, tmp_path).fact == "0.5.23, tier full"
    assert line("output", installed, tmp_path / "new.speckv").fact == f"{tmp_path} can be written"


def test_a_sglang_that_loads_no_plugins(tmp_path: Path) -> None:
    old = pretend_installed(tmp_path / "site", "0.5.11", OURS, modules=False)
    assert line("sglang", old, tmp_path) == Line(
        "sglang", "wrong", "0.5.11 loads no plugins", "Install 0.5.12 or later."
    )


def test_a_newer_release_is_untested_and_not_wrong(tmp_path: Path) -> None:
    new = pretend_installed(tmp_path / "site", "0.5.99", OURS)
    assert line("sglang", new, tmp_path).fact == "0.5.99, tier untested"
    assert line("hooks", new, tmp_path).state == "ok"


def test_a_plugin_that_is_not_seen(tmp_path: Path, bare_python: str) -> None:
    other = pretend_installed(tmp_path / "site", "0.5.23", {"other": "other:register"})
    alone = other | {"PYTHONPATH": str(tmp_path / "site")}
    found = line("plugin", alone, tmp_path, [bare_python])
    assert (found.state, found.fact) == ("wrong", f"speckv-debug is not installed in {bare_python}")
    assert found.remedy == f"Install it there: {bare_python} -m pip install speckv-debug"


def test_a_plugin_that_can_not_be_loaded(tmp_path: Path, bare_python: str) -> None:
    broken = pretend_installed(tmp_path / "site", "0.5.23", {"speckv_debug": "no_such_module:register"})
    alone = broken | {"PYTHONPATH": str(tmp_path / "site")}
    found = line("plugin", alone, tmp_path, [bare_python])
    assert found.state == "wrong"
    assert found.fact == "it can't be loaded: ModuleNotFoundError: No module named 'no_such_module'"


@pytest.mark.parametrize(
    ("allowed", "state", "remedy"),
    [
        ("", "ok", ""),
        ("other, speckv_debug", "ok", ""),
        ("other", "wrong", "Add it: SGLANG_PLUGINS=other,speckv_debug"),
        ("a b", "wrong", "Add it: SGLANG_PLUGINS='a b,speckv_debug'"),
    ],
)
def test_the_allow_list(
    installed: dict[str, str], tmp_path: Path, allowed: str, state: str, remedy: str
) -> None:
    found = line("allow-list", installed | {"SGLANG_PLUGINS": allowed}, tmp_path)
    assert (found.state, found.remedy) == (state, remedy)


def test_hooks_that_do_not_resolve_are_named(installed: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "site" / "sglang" / "srt" / "mem_cache" / "common.py").unlink()
    found = line("hooks", installed, tmp_path)
    count = len(list(promised("0.5.23")))
    assert found.state == "unknown"
    assert found.fact == f"{count - 1} of {count} functions that they go on are there; not there: release"
    assert found.remedy


def test_no_hook_resolves(installed: dict[str, str], tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "site" / "sglang" / "srt")
    shutil.rmtree(tmp_path / "site" / "sglang" / "kernels")
    assert line("hooks", installed, tmp_path).state == "wrong"


def test_an_output_that_can_not_be_written(installed: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = line("output", installed, tmp_path / "file" / "x.speckv")
    assert (found.state, found.fact) == ("wrong", f"{tmp_path / 'file'} is no folder")
    found = line("output", installed, Path("/proc/x.speckv"))
    assert found.state == "wrong" and found.fact.startswith("/proc can't be written: ")


@pytest.mark.parametrize(
    ("place", "fact", "remedy"),
    [
        ("no/x.speckv", "the folder it should go to does not exist", "Make the folder first."),
        ("empty", "exists", "Choose another name with -o, or add -f to replace it."),
        ("letters", "is a folder and no recording", "Choose another name with -o."),
    ],
)
def test_a_place_that_record_would_refuse(
    installed: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    place: str,
    fact: str,
    remedy: str,
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "mine.txt").write_text("dear")
    lines = diagnose(PYTHON, installed, tmp_path / place, new=True)
    found = next(each for each in lines if each.name == "output")
    assert (found.state, found.remedy) == ("wrong", remedy) and fact in found.fact
    force = ["-f"] if place == "letters" else []
    assert main(["record", *force, "-o", str(tmp_path / place), "--", "true"]) == 2
    assert found.fact in capsys.readouterr().err


def test_without_a_name_record_makes_one_in_the_current_folder(
    installed: dict[str, str], tmp_path: Path
) -> None:
    assert line("output", installed, tmp_path).state == "ok"


@pytest.mark.parametrize("name", ["no-such-program", "", "./file"])
def test_a_command_that_can_not_be_started(tmp_path: Path, installed: dict[str, str], name: str) -> None:
    lines = list(diagnose([name], installed, tmp_path))
    assert (lines[0].name, lines[0].state) == ("python", "wrong")
    assert lines[0].fact.startswith(f"can't start {name or 'the empty name'}: ") and lines[0].remedy


@pytest.mark.parametrize(("free", "state"), [(1 << 30, "ok"), ((1 << 30) - 1, "wrong")])
def test_room(
    installed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, state: str
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda place: Usage(1 << 40, 0, free))
    found = line("room", installed, tmp_path)
    assert (found.state, found.fact) == (state, "1.0 GiB free")
    assert bool(found.remedy) is (state == "wrong")


def test_a_command_whose_python_is_unknown(tmp_path: Path, installed: dict[str, str]) -> None:
    lines = list(diagnose(["sh", "run.sh"], installed, tmp_path))
    assert [each.name for each in lines] == ["python", "allow-list", "output", "room"]
    assert lines[0].state == "unknown" and "'sh'" in lines[0].fact


def test_the_command_prints_marks_and_remedies(
    installed: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in (installed | {"SGLANG_PLUGINS": "other"}).items():
        monkeypatch.setenv(name, value)
    assert main(["doctor", "-o", str(tmp_path / "x.speckv"), "--", *PYTHON]) == 1
    out = capsys.readouterr().out
    assert f"✓ plugin     speckv-debug {__version__} is seen and loads\n" in out
    assert "✗ allow-list SGLANG_PLUGINS=other hides the plugin\n" in out
    assert "             → Add it: SGLANG_PLUGINS=other,speckv_debug\n" in out


def test_json_and_exit_codes(
    installed: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in installed.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SGLANG_PLUGINS", raising=False)
    assert main(["doctor", "-o", str(tmp_path / "x.speckv"), "--json", "--", *PYTHON]) == 0
    assert {each["state"] for each in json.loads(capsys.readouterr().out)} == {"ok"}
    assert main(["doctor", "-o", str(tmp_path / "x.speckv"), "--", "sh", "run.sh"]) == 3
