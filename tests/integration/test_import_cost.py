"""Nobody pays for what a command does not need: heavy libraries are absent from `sys.modules`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CASE = Path(__file__).parents[1] / "recordings" / "cases" / "smallest-example.jsonl"
PROGRAM = """
import json, sys
from speckv_debug.cli import main
try:
    code = main(sys.argv[1:])
except SystemExit as end:
    code = end.code
sys.stdout.flush()
print(json.dumps([int(code or 0), sorted({name.split(".")[0] for name in sys.modules})]), file=sys.stderr)
"""
VIEWERS = {"torch", "triton", "pandas", "plotly", "textual", "rich", "sglang"}


def modules_after(*argv: str) -> tuple[int, set[str]]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *argv], capture_output=True, text=True, check=True)
    code, names = json.loads(done.stderr.strip().splitlines()[-1])
    return code, set(names)


@pytest.mark.parametrize(
    "argv", [["--help"], ["--version"], ["check", "--help"], ["inspect", "--help"], ["report", "--help"]]
)
def test_help_loads_nothing_heavy(argv: list[str]) -> None:
    _, loaded = modules_after(*argv)
    assert not loaded & (VIEWERS | {"pyarrow", "numpy", "numba"})


def test_check_without_replay_loads_no_torch_and_no_viewer(tmp_path: Path) -> None:
    recording = tmp_path / "x.speckv"
    assert modules_after("import", str(CASE), "-o", str(recording))[0] == 0
    code, loaded = modules_after("check", str(recording), "--replay", "off")
    assert code == 0
    assert not loaded & VIEWERS


@pytest.mark.parametrize("argv", [["rules"], ["explain", "ACC-SHIFT"]])
def test_rules_are_listed_without_torch(argv: list[str]) -> None:
    code, loaded = modules_after(*argv)
    assert code == 0
    assert not loaded & VIEWERS


def test_the_plugin_is_inert_without_our_variable() -> None:
    program = (
        "import sys; from speckv_debug.collectors.sglang.plugin import register; register();"
        "print(sorted({n.split('.')[0] for n in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env={})
    assert not {"torch", "sglang", "pyarrow", "numpy"} & set(eval(done.stdout))


def test_the_inert_plugin_leaves_nothing_behind_that_a_step_would_pay_for() -> None:
    program = (
        "import sys, threading; from speckv_debug.collectors.sglang import plugin; before = list(sys.meta_path);"
        "plugin.register(); print(sys.meta_path == before, threading.active_count(), plugin._waiting)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env={})
    assert done.stdout.split() == ["True", "1", "False"]
