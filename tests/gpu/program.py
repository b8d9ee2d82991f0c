"""A program under `speckv-debug record` on a terminal of its own, how it ends, and what `check` says of its recording."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from speckv_debug.recording.reader import ProcessRecording, Recording

TIMEOUT_S = 200
PATIENCE_S = 40
"""After so long a user presses Ctrl-C once more."""
ON_TERMINAL = 'terminal=$1; shift; exec "$@" < "$terminal"'
"""A session's first process that opens a terminal has it, and all that it starts get its Ctrl-C."""


@dataclass(frozen=True)
class Served:
    """What a recorded program left behind."""

    out: Path
    exit_code: int
    stdout: str
    stderr: str

    @property
    def processes(self) -> Sequence[ProcessRecording]:
        """Its recorded schedulers."""
        return Recording.open(self.out).processes

    @property
    def is_complete(self) -> bool:
        """Whether each process closed its recording."""
        return all(process.problems == () for process in self.processes)

    def report(self, device: str = "cpu") -> dict[str, Any]:
        """What `check --format json` prints, with its exit code; replay runs on the device."""
        command = [sys.executable, "-m", "speckv_debug", "check", str(self.out), "--format", "json"]
        ran = subprocess.run([*command, "--device", device], capture_output=True, text=True, check=False)
        assert ran.returncode in (0, 1, 3), ran.stderr[-3000:]
        (self.out.parent / f"check-{device}.json").write_text(ran.stdout)
        return {"exit_code": ran.returncode, **json.loads(ran.stdout)}

    def is_clean(self, rules: Iterable[str] = ("",)) -> None:
        """`check` finds nothing, and judges at least 95 % of the instances of rules that begin so."""
        report, starts = self.report(), tuple(rules)
        assert report["findings"] == [] and report["exit_code"] == 0
        judged = sum(count for rule, count in report["checked"].items() if rule.startswith(starts))
        unknown = sum(e["instances"] for e in report["unknown"] if e["rule"].startswith(starts))
        assert judged >= 1000 and judged >= 0.95 * (judged + unknown), (judged, report["unknown"])

    def is_whole(self) -> None:
        """Every hook held, nothing was dropped, and verifies are there."""
        assert self.processes
        for process in self.processes:
            assert process.info.from_start
            assert None not in process.info.hooks.values()
            notes = [e.text for e in process.events() if e.table == "note" and e.level != "info"]
            tables = {e.table for e in process.events()}
            assert notes == [] and "drop" not in tables
            assert tables >= {"accept", "lengths", "release", "reserve"}


class Program:
    """A program that `record` has started, on a terminal of its own."""

    def __init__(self, folder: Path, gpus: str, command: Sequence[str], options: Sequence[str] = ()) -> None:
        self._folder = folder
        self.out = folder / "run.speckv"
        recording = [sys.executable, "-m", "speckv_debug", "record", "-o", str(self.out), *options, "--"]
        self._terminal, there = os.openpty()
        with (folder / "stdout").open("w") as stdout, (folder / "stderr").open("w") as stderr:
            self.running = subprocess.Popen(
                ["sh", "-c", ON_TERMINAL, "sh", os.ttyname(there), *recording, *command],
                stdout=stdout,
                stderr=stderr,
                env=os.environ | {"CUDA_VISIBLE_DEVICES": gpus, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
            )
        os.close(there)

    def end_by(self, number: signal.Signals | None) -> Served:
        """Ctrl-C on the terminal (twice where once isn't enough), a signal to `record`, or by itself."""
        if number is signal.SIGINT:
            os.write(self._terminal, b"\x03")
            if self._lasts(PATIENCE_S):
                os.write(self._terminal, b"\x03")
        elif number is not None:
            self.running.send_signal(number)
        try:
            code = self.running.wait(TIMEOUT_S)
        finally:
            if self.running.poll() is None:
                os.killpg(self.running.pid, signal.SIGKILL)
            os.close(self._terminal)
        told = [(self._folder / name).read_text() for name in ("stdout", "stderr")]
        return Served(self.out, code, *told)

    def _lasts(self, seconds: float) -> bool:
        try:
            self.running.wait(seconds)
        except subprocess.TimeoutExpired:
            return True
        return False

    def wait_for(self, there: Callable[[], bool]) -> None:
        """Until something is there, as long as the program runs."""
        until = time.monotonic() + TIMEOUT_S
        while not there():
            assert self.running.poll() is None, (self._folder / "stderr").read_text()[-3000:]
            assert time.monotonic() < until, "it takes too long"
            time.sleep(0.2)

    def says(self) -> bool:
        """Whether it has printed something."""
        return (self._folder / "stdout").stat().st_size > 0
