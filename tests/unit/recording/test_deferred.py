"""Columns that the writer thread makes: what can't be made is a drop where it happened, and no failure is silent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.recording.recorder import Recorder


class Gate:
    """Holds events back until all are there, so that they are made in one go."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def ready(self) -> bool:
        return self.open.is_set()


def recorded(tmp_path: Path, make: Callable[..., dict[str, Any]]) -> ProcessRecording:
    """Three frees whose columns are made together, of slots 0, 1 and 2."""
    recorder, gate = Recorder(tmp_path / "r.speckv", {}, flush_s=0.01), Gate()
    for slot in range(3):
        recorder.defer("free", 1, 5, None, gate, make, (slot,))
    gate.open.set()
    recorder.close()
    (process,) = Recording.open(tmp_path / "r.speckv").processes
    return process


def slots(process: ProcessRecording) -> list[tuple[int, list[int]]]:
    return [(row["seq"], row["slots"]) for row in process.table("free").to_pylist()]


def notes(process: ProcessRecording) -> list[str]:
    return [row["text"] for row in process.table("note").to_pylist()]


def test_a_failure_to_make_many_at_once_is_noted_and_loses_nothing(tmp_path: Path) -> None:
    def make(slot: int) -> dict[str, Any]:
        return {"slots": [slot]}

    def together(given: list[tuple[int]]) -> None:
        raise ValueError("uneven")

    make.together = together  # type: ignore[attr-defined]
    process = recorded(tmp_path, make)
    assert slots(process) == [(0, [0]), (1, [1]), (2, [2])] and not process.table("drop").num_rows
    (said,) = notes(process)
    assert "free could not be made together" in said and "ValueError: uneven" in said


def test_what_can_not_be_made_alone_either_is_a_drop_in_its_place(tmp_path: Path) -> None:
    def make(slot: int) -> dict[str, Any]:
        if slot == 1:
            raise KeyError("gone")
        return {"slots": [slot]}

    make.together = lambda given: [make(*each) for each in given]  # type: ignore[attr-defined]
    process = recorded(tmp_path, make)
    assert slots(process) == [(0, [0]), (2, [2])] and not process.gaps()
    (drop,) = process.table("drop").to_pylist()
    assert (drop["seq"], drop["table"], drop["rows"]) == (1, "free", 1) and "KeyError: 'gone'" in drop["why"]
    together, alone = notes(process)
    assert "made together" in together and "was dropped: KeyError: 'gone'" in alone


def test_what_does_not_know_how_to_be_made_together_says_nothing(tmp_path: Path) -> None:
    def make(slot: int) -> dict[str, Any]:
        return {"slots": [slot]}

    make.together = lambda given: None  # type: ignore[attr-defined]
    process = recorded(tmp_path, make)
    assert len(slots(process)) == 3 and not notes(process)
