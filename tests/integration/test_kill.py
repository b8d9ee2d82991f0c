"""`kill -9` at any moment: what was recorded more than 1.5 s before is read back, the loss is said."""

import json
import multiprocessing
import os
import random
import runpy
import signal
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from speckv_debug.cli import main
from speckv_debug.recording.reader import Recording

PROGRAM = Path(__file__).with_name("killed_program.py")
PROMISED_NS = 1_500_000_000
SHORTEST_S, LONGEST_S = 1.55, 3.0
STARTED_S = 120
AT_ONCE = 6


def kill_at_random_moments(folder: Path, moments: int, seed: int) -> None:
    """Kill that many processes, a few running at a time, each at its own moment."""
    chance = random.Random(seed)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["speckv_debug.recording.recorder"])
    for first in range(0, moments, AT_ONCE):
        names = [str(n) for n in range(first, min(first + AT_ONCE, moments))]
        running = [(name, start(context.Process, folder, name)) for name in names]
        ends = sorted((chance.uniform(SHORTEST_S, LONGEST_S), name, each) for name, each in running)
        for after, name, process in ends:
            time.sleep(max(0.0, first_event(folder / f"{name}.count") + after - time.monotonic()))
            kill(process, folder / f"{name}.killed")


def first_event(count: Path) -> float:
    """When the victim had recorded something, in `time.monotonic()` seconds: a busy machine may start it late."""
    ceiling = time.monotonic() + STARTED_S
    while not (count.exists() and "\n" in count.read_text()):
        assert time.monotonic() < ceiling, f"nothing recorded within {STARTED_S} s"
        time.sleep(0.01)
    return int(count.read_text().split()[0]) / 1e9


def start(make: Callable[..., BaseProcess], folder: Path, name: str) -> BaseProcess:
    """Fork a victim from a server that has all it needs in memory."""
    names = {"OUT": folder / f"{name}.speckv", "COUNT": folder / f"{name}.count"}
    process = make(target=runpy.run_path, args=(str(PROGRAM), names, "__main__"))
    process.start()
    return process


def kill(process: BaseProcess, moment: Path) -> None:
    """Note the time, then kill."""
    assert process.pid is not None
    moment.write_text(str(time.monotonic_ns()))
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL


def promised(folder: Path, name: str) -> int:
    """How many events were recorded more than 1.5 s before the kill."""
    before = int((folder / f"{name}.killed").read_text()) - PROMISED_NS
    lines = [line.split() for line in (folder / f"{name}.count").read_text().splitlines()]
    return max((int(count) for at, count in lines if int(at) <= before), default=0)


def check_recording(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> int:
    """The promise for one killed process; how many events were promised."""
    path, owed = folder / f"{name}.speckv", promised(folder, name)
    (process,) = Recording.open(path).processes
    seq = process.order().seq
    assert len(seq) >= owed and (seq == range(len(seq))).all()
    assert [event.step for event in process.events(last_seq=owed - 1)] == list(range(owed))
    assert main(["info", str(path)]) == 0
    info = capsys.readouterr().out
    assert "the end is missing: the process was killed" in info and "may be lost" in info
    assert main(["export", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(seq) and json.loads(lines[-1])["seq"] == seq[-1]
    return owed


def every_command_reads(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No command refuses the recording."""
    for argv in (["check", str(path)], ["report", str(path)], ["check", "--format", "json", str(path)]):
        assert main(argv) in (0, 1, 3), argv
        assert "Traceback" not in capsys.readouterr().err


def run_moments(folder: Path, moments: int, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Kill, then look at every recording; the last one with every command."""
    kill_at_random_moments(folder, moments, seed)
    owed = [check_recording(folder, str(name), capsys) for name in range(moments)]
    assert all(count > 0 for count in owed), "killed before anything was promised"
    every_command_reads(folder / f"{moments - 1}.speckv", capsys)


def test_a_few_random_moments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_moments(tmp_path, 6, 1, capsys)


@pytest.mark.full
def test_fifty_random_moments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_moments(tmp_path, 50, 2, capsys)
