"""One verify out of the part of a recording around it is the same as out of the whole recording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.replay import verify_windows
from speckv_debug.replay.steps import StepIndex
from speckv_debug.replay.verify_table import VerifyTable

RECORDINGS = Path(__file__).parents[2] / "recordings"
FILES = sorted((*RECORDINGS.glob("cases/*.jsonl"), *RECORDINGS.glob("real/*.jsonl.xz")))
EVERY = 7


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.split(".")[0])
def test_verifies_are_those_of_the_whole(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_windows, "NEAR", 8)
    monkeypatch.setattr(verify_windows, "BEHIND", 64)
    import_jsonl(file, tmp_path / "x.speckv")
    for process in Recording.open(tmp_path / "x.speckv").processes:
        whole, table = StepIndex(process), VerifyTable(process)
        for name in ("seq", "step", "row", "accept_len", "width"):
            assert np.array_equal(getattr(table, name), getattr(whole, name)), name
        assert list(table.request) == whole.request
        for index in range(0, len(whole), EVERY if file.suffix == ".xz" else 1):
            assert table.verify(index) == whole.verify(index)


def test_lengths_from_before_the_window_are_found(
    record: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_windows, "NEAR", 4)
    told = {"event": "lengths", "request": "1", "row": 1, "epoch": 1, "committed": 4, "allocated": 64}
    verify = {"event": "accept", "request": "1", "row": 1, "epoch": 1, "seq_len": 4, "accept_len": 1}
    process = record(told, *({**verify, "step": step} for step in range(40))).processes[0]
    assert VerifyTable(process).verify(39) == StepIndex(process).verify(39)
    assert VerifyTable(process).verify(39).bounds is not None


def test_there_is_no_verify_beyond_the_last(record: Callable[..., Recording]) -> None:
    process = record({"event": "row_alloc", "row": 1, "epoch": 1}).processes[0]
    with pytest.raises(IndexError):
        VerifyTable(process).verify(0)


def test_verifies_are_found_by_step_and_request(record: Callable[..., Recording]) -> None:
    told = {"event": "accept", "epoch": 1, "seq_len": 4, "accept_len": 1}
    events = [{**told, "row": row, "request": f"r{row}", "step": step} for step in (3, 4) for row in (1, 2)]
    process = record(*events).processes[0]
    table, whole = VerifyTable(process), StepIndex(process)
    assert table.find(4) == whole.find(4) == [2, 3]
    assert table.find(4, "r2") == whole.find(4, "r2") == [3]
    assert table.find(5) == table.find(4, "r3") == []
