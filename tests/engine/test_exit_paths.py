"""A server ends in one of five ways; the recording of its scheduler stays, and what it lacks is said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from running import HERE, environment, release_folder

from speckv_debug.recording.reader import ProcessRecording, Recording

TIMEOUT_S = 600
PROMISED_NS = 1_500_000_000
"""What was recorded longer ago than that when a process is killed has to be there."""


ON_TERMINAL = 'terminal=$1; shift; exec "$@" < "$terminal"'
"""A session's first process that opens a terminal has it, and all that it starts get its Ctrl-C."""

WITH_CTRL_C = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""A shell that starts the tests in the background has them, and all that they start, ignore Ctrl-C."""


@dataclass(frozen=True)
class Ended:
    """What one server left behind."""

    out: Path
    progress: Path
    exit_code: int
    stderr: str

    @property
    def process(self) -> ProcessRecording:
        """The recorded scheduler."""
        (process,) = Recording.open(self.out).processes
        return process

    @property
    def steps(self) -> list[int]:
        """Recorded engine steps."""
        return sorted({e.step for e in self.process.events() if e.table == "forward" and e.step is not None})

    def launched(self, before_ns: int = 0) -> int:
        """Steps that the engine had launched in turns of its loop that were over so long before the end."""
        end = int(self.progress.with_suffix(".ended").read_text()) - before_ns
        lines = [line.split() for line in self.progress.read_text().splitlines()]
        return max((int(steps) for at, steps in lines if int(at) <= end), default=0)

    def report(self) -> dict:
        """What `check` prints."""
        command = [sys.executable, "-m", "speckv_debug", "check", str(self.out), "--format", "json"]
        ran = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
        return {"exit_code": ran.returncode, **json.loads(ran.stdout)}

    def info(self) -> str:
        """What `info` prints."""
        command = [sys.executable, "-m", "speckv_debug", "info", str(self.out)]
        return subprocess.run(command, capture_output=True, text=True, env=environment(), check=True).stdout


def end_by(
    way: str,
    folder: Path,
    *,
    disturb: Callable[[int, Path], None] | None = None,
    options: Sequence[str] = (),
    target: Sequence[str] = (),
) -> Ended:
    """Run `record OPTIONS -- launching.py TARGET` on a terminal of its own until it has ended."""
    out, progress = folder / "run.speckv", folder / "progress.txt"
    command = [sys.executable, "-m", "speckv_debug", "record", "-o", str(out), *options, "--", sys.executable]
    command += [str(HERE / "launching.py"), "--sglang", release_folder("0.5.23")]
    command += ["--end", way, "--progress", str(progress), *target]
    master, terminal = os.openpty()
    command = [
        sys.executable,
        "-c",
        WITH_CTRL_C,
        "sh",
        "-c",
        ON_TERMINAL,
        "sh",
        os.ttyname(terminal),
        *command,
    ]
    with (folder / "stderr").open("w") as stderr:
        running = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env=environment(),
            start_new_session=True,
        )
        os.close(terminal)
        if disturb is not None:
            disturb(master, progress.with_suffix(".order"))
        code = running.wait(TIMEOUT_S)
    os.close(master)
    return Ended(out, progress, code, (folder / "stderr").read_text())


def press_ctrl_c(terminal: int, order: Path) -> None:
    """As soon as the launcher waits for it."""
    until = time.monotonic() + TIMEOUT_S
    while not order.exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.write(terminal, b"\x03")


def nothing_is_accused(ended: Ended) -> None:
    """What was recorded is judged, and what is missing is nobody's fault."""
    report = ended.report()
    assert [f for f in report["findings"] if f["severity"] == "error"] == []
    assert sum(report["checked"].values()) > 100


def is_cut_short_at_most_by_what_may_be_lost(ended: Ended) -> None:
    """All steps are there, up to the last moments; and that something may be missing is said."""
    owed = ended.launched(before_ns=PROMISED_NS)
    assert owed >= 10
    assert ended.steps[:owed] == list(range(1, owed + 1))
    assert "the end is missing: the process was killed" in ended.info()
    assert "did not close its recording (killed?): its last second may be missing" in ended.stderr
    nothing_is_accused(ended)


def is_complete(ended: Ended) -> None:
    """Nothing is missing, and nothing says so."""
    assert ended.process.problems == ()
    assert ended.steps == list(range(1, len(ended.steps) + 1))
    assert len(ended.steps) >= ended.launched() >= 10
    assert "missing" not in ended.info()
    nothing_is_accused(ended)


def test_engine_shutdown_kills_the_scheduler(tmp_path: Path) -> None:
    ended = end_by("kill", tmp_path)
    assert ended.exit_code == 0, ended.stderr[-2000:]
    is_cut_short_at_most_by_what_may_be_lost(ended)


def test_an_exception_of_the_scheduler_closes_the_recording_before_the_parent_kills(tmp_path: Path) -> None:
    ended = end_by("crash", tmp_path)
    assert ended.exit_code == 128 + signal.SIGKILL
    is_complete(ended)
    notes = [e.text for e in ended.process.events() if e.table == "note" and e.level == "error"]
    assert notes == ["the scheduler's loop ended: RuntimeError: raised on purpose"]


@pytest.mark.full
def test_a_graceful_shutdown_loses_nothing(tmp_path: Path) -> None:
    ended = end_by("graceful", tmp_path)
    assert ended.exit_code == 0, ended.stderr[-2000:]
    is_complete(ended)
    assert "killed" not in ended.stderr


@pytest.mark.full
def test_the_scheduler_dies_with_its_launcher(tmp_path: Path) -> None:
    ended = end_by("launcher", tmp_path)
    assert ended.exit_code == 128 + signal.SIGKILL
    is_cut_short_at_most_by_what_may_be_lost(ended)


@pytest.mark.full
def test_ctrl_c_reaches_everybody_and_loses_the_last_moments_at_most(tmp_path: Path) -> None:
    """The scheduler closes its recording or is killed while it does: both may come first."""
    ended = end_by("interrupt", tmp_path, disturb=press_ctrl_c)
    owed = ended.launched(before_ns=PROMISED_NS)
    assert owed >= 10
    assert ended.steps[:owed] == list(range(1, owed + 1))
    said = "did not close its recording" in ended.stderr
    assert said == ("the end is missing" in ended.info())
    nothing_is_accused(ended)
