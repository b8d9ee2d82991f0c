"""`record` runs a program, passes signals on, returns its exit code, and says what it got or why nothing."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from speckv_debug.recording.reader import Recording

PROGRAM = [sys.executable, "-m", "speckv_debug"]
ENGINE = """
import os, signal, sys, time
from pathlib import Path
from speckv_debug.recording.recorder import Limits, Recorder

facts = {"engine": "toy", "engine_version": "1.0", "tables": ["lengths"], "hooks": {"toy.prepare": "toy.prepare"}}
recorder = Recorder(Path(os.environ["SPECKV_DEBUG_OUT"]), facts, limits=Limits.from_env())

def step(number):
    recorder.emit("lengths", step=number, request="a", committed=number, allocated=number + 4, cause="decode")

for number in range(10):
    step(number)
"""
WAIT_FOR_SIGNAL = """
arrived, wakeup = os.pipe()
os.set_blocking(wakeup, False)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, lambda number, frame: None)
signal.set_wakeup_fd(wakeup)  # one byte a delivery, where Python's own handlers would merge two
print("ready", flush=True)
got = os.read(arrived, 1)
time.sleep(0.3)
os.set_blocking(arrived, False)
try:
    got += os.read(arrived, 100)
except BlockingIOError:
    pass
print(*got, flush=True)
recorder.close()
sys.exit(40)
"""
UNTIL_ON_DISK = """
from speckv_debug.recording.reader import Recording
while Recording.open(recorder.folder.parent).processes[0].table("lengths").num_rows < 10:
    time.sleep(0.05)
"""
NO_ENGINE = "print('no engine here')"


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `record` in a folder of its own with a Python program as the target."""

    def run(
        source: str, *options: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = [*PROGRAM, "record", *options, "--", sys.executable, str(script(tmp_path, source))]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, **(environment or {})},
            text=True,
            capture_output=True,
            timeout=60,
            check=False,
        )

    return run


def script(folder: Path, source: str) -> Path:
    path = folder / "target.py"
    path.write_text(source)
    return path


def start(folder: Path, source: str) -> subprocess.Popen[str]:
    """Start `record` and wait until its target is ready for signals."""
    command = [*PROGRAM, "record", "-o", "run.speckv", "--", sys.executable, str(script(folder, source))]
    process = subprocess.Popen(
        command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def steps_of(path: Path) -> list[int]:
    (process,) = Recording.open(path).processes
    return process.table("lengths")["step"].to_pylist()


def manifest_of(path: Path) -> dict[str, object]:
    return json.loads((path / "manifest.json").read_text())


@pytest.mark.parametrize("code", [0, 7])
def test_the_exit_code_is_the_targets(
    record: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, code: int
) -> None:
    ran = record(ENGINE + f"print('out'); sys.exit({code})", "-o", "run.speckv")
    assert ran.returncode == code
    assert ran.stdout == "out\n"
    assert "recorded toy 1.0 (tp0-pp0-dp0-" in ran.stderr
    assert ran.stderr.rstrip().endswith("next: speckv-debug check run.speckv")
    assert steps_of(tmp_path / "run.speckv") == list(range(10))
    manifest = manifest_of(tmp_path / "run.speckv")
    assert manifest["command"] == [sys.executable, str(tmp_path / "target.py")]
    assert manifest["exit_code"] == code
    assert manifest["clean_shutdown"] is True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGABRT])
def test_a_target_ended_by_a_signal_gives_128_and_its_number(
    record: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, number: signal.Signals
) -> None:
    ran = record(ENGINE + UNTIL_ON_DISK + f"os.kill(os.getpid(), {number:d})", "-o", "run.speckv")
    assert ran.returncode == 128 + number
    assert "did not close its recording" in ran.stderr
    assert steps_of(tmp_path / "run.speckv") == list(range(10))
    assert manifest_of(tmp_path / "run.speckv")["clean_shutdown"] is False


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2],
)
def test_a_signal_passes_through_once(tmp_path: Path, number: signal.Signals) -> None:
    process = start(tmp_path, ENGINE + WAIT_FOR_SIGNAL)
    process.send_signal(number)
    out, _ = process.communicate(timeout=30)
    assert out == f"{number:d}\n"
    assert process.returncode == 40


def test_the_target_runs_to_its_end_whatever_record_is_told(tmp_path: Path) -> None:
    ignoring = "signal.signal(signal.SIGINT, signal.SIG_IGN); print('ready', flush=True); time.sleep(1); print('end')"
    process = start(tmp_path, ENGINE + ignoring)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
    out, _ = process.communicate(timeout=30)
    assert (out, process.returncode) == ("end\n", 0)


def test_ctrl_c_in_a_terminal_reaches_the_target_once(tmp_path: Path) -> None:
    command = [*PROGRAM, "record", "-o", "run.speckv", "--"]
    command += [sys.executable, str(script(tmp_path, ENGINE + WAIT_FOR_SIGNAL))]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execv(command[0], command)
    seen = read_until(terminal, b"ready")
    os.write(terminal, b"\x03")
    seen = read_until(terminal, b"check run.speckv")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 40
    os.close(terminal)
    assert f"\n{signal.SIGINT:d}\r\n".encode() in seen


def read_until(terminal: int, words: bytes) -> bytes:
    seen, deadline = b"", time.monotonic() + 30
    while words not in seen and time.monotonic() < deadline:
        seen += os.read(terminal, 4096)
    assert words in seen
    return seen


def test_a_target_that_does_not_exist_leaves_nothing(tmp_path: Path) -> None:
    ran = subprocess.run(
        [*PROGRAM, "record", "-o", "run.speckv", "--", "no-such-program", "x"],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 2
    assert "can't start no-such-program: No such file or directory" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_target_that_may_not_run_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("not a program")
    command = [*PROGRAM, "record", "-o", "run.speckv", "--", "./notes"]
    ran = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert ran.returncode == 2
    assert "can't start ./notes: Permission denied" in ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_an_output_that_exists_is_never_touched_without_force(
    record: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    assert record(ENGINE, "-o", "run.speckv").returncode == 0
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.name != "target.py"}
    ran = record(ENGINE + "Path('started').touch()", "-o", "run.speckv")
    assert ran.returncode == 2
    assert "run.speckv exists" in ran.stderr
    assert {
        path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.name != "target.py"
    } == before


def test_force_replaces_a_recording(
    record: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    assert record(ENGINE, "-o", "run.speckv").returncode == 0
    assert record(ENGINE + "step(10)", "-o", "run.speckv", "-f").returncode == 0
    assert steps_of(tmp_path / "run.speckv") == list(range(11))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.speckv", "target.py"]


def test_force_keeps_the_old_recording_if_the_target_cannot_start(
    record: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    assert record(ENGINE, "-o", "run.speckv").returncode == 0
    command = [*PROGRAM, "record", "-o", "run.speckv", "-f", "--", "no-such-program"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 2
    assert steps_of(tmp_path / "run.speckv") == list(range(10))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.speckv", "target.py"]


def test_force_keeps_the_old_recording_if_no_engine_reports(
    record: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    assert record(ENGINE, "-o", "run.speckv").returncode == 0
    ran = record(NO_ENGINE, "-o", "run.speckv", "-f")
    assert ran.returncode == 3
    assert "before is back" in ran.stderr
    assert steps_of(tmp_path / "run.speckv") == list(range(10))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.speckv", "target.py"]


def test_force_does_not_delete_a_folder_that_is_no_recording(
    record: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "data").write_text("x")
    ran = record(ENGINE, "-o", "precious", "-f")
    assert ran.returncode == 2
    assert "no recording" in ran.stderr
    assert (tmp_path / "precious" / "data").read_text() == "x"


def test_a_step_limit_ends_the_recording_and_not_the_target(
    record: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    ran = record(ENGINE + "print('went on')", "-o", "run.speckv", "--steps", "4")
    assert (ran.returncode, ran.stdout) == (0, "went on\n")
    assert steps_of(tmp_path / "run.speckv") == [0, 1, 2, 3]
    (process,) = Recording.open(tmp_path / "run.speckv").processes
    assert process.table("note")["text"].to_pylist() == [
        "recording ended: the limit of steps was reached; the program goes on"
    ]


def test_a_size_limit_ends_the_recording_and_not_the_target(
    record: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    fill = """
number, deadline = 10, time.monotonic() + 20
while recorder.active and time.monotonic() < deadline:
    step(number)
    number += 1
    if number % 1000 == 0:
        time.sleep(0.01)
print("active" if recorder.active else "ended", os.environ["SPECKV_DEBUG_MAX_SIZE"])
"""
    ran = record(ENGINE + fill, "-o", "run.speckv", "--max-size", "64KiB")
    assert (ran.returncode, ran.stdout) == (0, "ended 65536\n")


@pytest.mark.parametrize(("options", "told"), [((), "None"), (("--level", "1"), "1")])
def test_the_level_reaches_the_target(
    record: Callable[..., subprocess.CompletedProcess[str]], options: tuple[str, ...], told: str
) -> None:
    ran = record(ENGINE + "print(os.environ.get('SPECKV_DEBUG_LEVEL'))", "-o", "run.speckv", *options)
    assert (ran.returncode, ran.stdout) == (0, f"{told}\n")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--steps", "0"),
        ("--steps", "many"),
        ("--max-size", "5 parsec"),
        ("--max-size", "-1"),
        ("--level", "4"),
    ],
)
def test_a_wrong_limit_is_refused_before_anything_starts(
    record: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, option: str, value: str
) -> None:
    ran = record("open('started', 'w')", option, value)
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["target.py"]


def test_no_target_is_refused() -> None:
    ran = subprocess.run([*PROGRAM, "record"], text=True, capture_output=True, check=False)
    assert ran.returncode == 2
    assert "no target to run" in ran.stderr


@pytest.mark.parametrize(("code", "given"), [(0, 3), (5, 5)])
def test_no_engine_is_said_loudly(
    record: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, code: int, given: int
) -> None:
    ran = record(f"{NO_ENGINE}; raise SystemExit({code})", "-o", "run.speckv")
    assert ran.returncode == given
    assert "NOTHING WAS RECORDED: no engine process reported" in ran.stderr
    assert not (tmp_path / "run.speckv").exists()


def test_no_engine_names_an_allow_list_that_leaves_the_plugin_out(
    record: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    ran = record(NO_ENGINE, environment={"SGLANG_PLUGINS": "one,another"})
    assert "SGLANG_PLUGINS=one,another lists the plugins" in ran.stderr


def test_an_engine_in_which_nothing_was_found_counts_as_silent(
    record: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    ran = record(ENGINE.replace('"toy.prepare": "toy.prepare"', '"toy.prepare": None'), "-o", "run.speckv")
    assert ran.returncode == 3
    assert "none of its functions could be hooked" in ran.stderr
    assert (tmp_path / "run.speckv").exists()


def test_the_default_name_is_the_time(
    record: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    assert record(ENGINE).returncode == 0
    (made,) = tmp_path.glob("*.speckv")
    assert time.strptime(made.name, "speckv-%Y%m%d-%H%M%S.speckv")
