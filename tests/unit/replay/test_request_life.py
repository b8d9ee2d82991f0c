"""The epochs of a row and the life of a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.replay.request_life import request_life, row_history

Line = dict[str, Any]
A: Line = {"request": "a", "row": 1, "epoch": 1}
B: Line = {"request": "b", "row": 1, "epoch": 2}


def lines() -> list[Line]:
    accept = {"event": "accept", "step": 2, **A, "width": 4, "accept_len": 3, "seq_len": 4, "new_seq_len": 7}
    return [
        {"event": "row_alloc", "step": 1, **A},
        {"event": "alloc", "step": 1, **A, "pool": "full", "slots": ["100:108"], "reason": "extend", "site": "a.py:f"},
        {"event": "table_write", "step": 1, "row": 1, "epoch": 1, "start": 0, "slots": ["100:108"]},
        {"event": "lengths", "step": 1, **A, "committed": 4, "allocated": 8, "cause": "extend"},
        {"event": "lengths", "step": 1, **A, "pool": "draft", "committed": 3, "allocated": 3, "cause": "extend"},
        accept | {"out_cache_loc": [104, 105, 106, 107], "table_slots": [104, 105, 106, 107], "block_start": 0},
        {"event": "accept", "step": 2, "request": "c", "row": 2, "epoch": 1, "width": 1, "accept_len": 1, "out_cache_loc": [200]},
        {"event": "move", "step": 2, "pool": "full", "src": [104, 107, 200, 0], "tgt": [104, 105, 200, 0], "caller": "accept"},
        {"event": "lengths", "step": 2, **A, "committed": 7, "allocated": 8, "cause": "verify_commit", "cut": "stop"},
        {"event": "release", "step": 3, **A, "kind": "session_trim", "committed": 6, "allocated": 8, "free_start": 6},
        {"event": "release", "step": 3, **A, "kind": "finish", "committed": 7, "allocated": 8, "free_start": 7},
        {"event": "free", "step": 3, **A, "pool": "full", "slots": ["100:108"], "reason": "finish"},
        {"event": "row_free", "step": 3, **A},
        {"event": "alloc", "step": 4, **B, "pool": "full", "granted": False, "reason": "extend"},
        {"event": "lengths", "step": 4, **B, "committed": 1, "allocated": 1, "cause": "extend"},
    ]  # fmt: skip


@pytest.fixture
def process(record: Callable[..., Recording]) -> ProcessRecording:
    return record(*lines()).processes[0]


def test_the_epochs_of_a_row(process: ProcessRecording) -> None:
    first, second = row_history(process, 1).epochs
    assert (first.epoch, first.request, first.began, first.first_seq, first.first_step) == (
        1,
        "a",
        True,
        0,
        1,
    )
    assert (first.ended, first.last_seq, first.last_step) == ("finish", 10, 3)
    assert (first.committed, first.allocated, first.verifies, first.accepted) == (7, 8, 1, 3)
    assert (second.epoch, second.request, second.began, second.ended, second.last_seq) == (
        2,
        "b",
        False,
        None,
        14,
    )
    assert row_history(process, 9).epochs == ()


def test_the_life_of_a_request(process: ProcessRecording) -> None:
    life = request_life(process, "a")
    assert [epoch.epoch for epoch in life.epochs] == [1]
    names = [event.event for event in life.events]
    assert names == [
        "row_alloc", "alloc", "table_write", "lengths", "lengths", "accept", "move", "lengths", "release", "release",
        "free", "row_free",
    ]  # fmt: skip
    told = {event.seq: event for event in life.events}
    assert (told[1].site, told[1].detail, len(told[1].slots)) == ("a.py:f", "extend", 8)
    assert (told[5].committed, told[5].accepted, told[5].width) == (4, 3, 4)
    assert told[7].moved == ((104, 104), (105, 107))
    assert told[8].detail == "verify_commit, cut by stop"
    assert told[10].detail == "finish, tail free starts at 7"
    assert request_life(process, "zz").events == ()


def test_memory_that_was_refused(process: ProcessRecording) -> None:
    alloc, _ = request_life(process, "b").events
    assert alloc.detail == "refused: out of memory (extend)"


def test_what_is_missing_is_said(process: ProcessRecording) -> None:
    assert any("did not see the process start" in each.why for each in request_life(process, "a").unseen)
