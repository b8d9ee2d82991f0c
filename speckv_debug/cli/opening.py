"""Opening a recording for a command: what the reader found wrong goes to stderr, the rest is used."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from speckv_debug.errors import SpeckvError
from speckv_debug.model.text import printable

if TYPE_CHECKING:
    from speckv_debug.recording.reader import Problem, ProcessRecording, Recording

SHOWN_PROBLEMS = 20


def open_recording(path: Path) -> Recording:
    """Open a recording and print its problems on stderr.

    Raises:
        RecordingError: There is no recording, or a newer version wrote it.
    """
    from speckv_debug.recording.reader import Recording

    recording = Recording.open(path)
    _say(recording.problems)
    return recording


@contextmanager
def reading(path: Path) -> Iterator[Recording]:
    """A recording as `open_recording` gives it; damage that shows only while it is read is printed at the end.

    Raises:
        RecordingError: There is no recording, or a newer version wrote it.
    """
    recording = open_recording(path)
    told = {_named(problem) for problem in recording.problems}
    try:
        yield recording
    except SpeckvError:
        _say_new(recording, told)  # it may be why there was no answer
        raise
    _say_new(recording, told)


def look_at_all(process: ProcessRecording) -> None:
    """Read what the answer did not need, so that its damage is told too; not of a long recording, where that takes long."""
    from speckv_debug.recording.process_recording import HELD_ROWS

    if process.rows <= HELD_ROWS:
        process.verify()


def _say_new(recording: Recording, told: set[tuple[str, ...]]) -> None:
    _say([problem for problem in recording.problems if _named(problem) not in told])


def _named(problem: Problem) -> tuple[str, ...]:
    """Which problem it is; how much it says is lost may change with what else is found."""
    column = problem.what if problem.kind == "damaged_column" else ""
    return (problem.kind, problem.where, column, *problem.tables)


def _say(problems: Iterable[Problem]) -> None:
    found = list(problems)
    for problem in found[:SHOWN_PROBLEMS]:
        print(f"speckv-debug: {printable(str(problem))}", file=sys.stderr)
    if (more := len(found) - SHOWN_PROBLEMS) > 0:
        print(f"speckv-debug: and {more} more; `speckv-debug info` lists all", file=sys.stderr)
