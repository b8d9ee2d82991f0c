"""Verify steps rebuilt from a recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.model.verify import KVBounds, SlotMove
from speckv_debug.replay.steps import StepIndex

Build = Callable[..., Any]


@pytest.fixture
def steps(record: Build) -> Build:
    return lambda *lines: StepIndex(record(*lines).processes[0])


def test_the_smallest_example(steps: Build, verify: Build) -> None:
    move = {"event": "move", "step": 1, "src": [100, 101, 103], "tgt": [100, 101, 102]}
    step = steps(verify(), move).verify(0)
    assert (step.tree.tokens, step.tree.parents) == ((11, 21, 22, 23), (-1, 0, 0, 1))
    assert step.accepted == (0, 1, 3)
    assert step.kv_tokens == (11, 21, 23)
    assert step.output_tokens == (21, 23, 31)
    assert step.moves[2] == SlotMove(
        k=2, token=23, verify_row=3, position=12, source=103, target=102, engine_source=103, engine_target=102
    )
    assert [move.in_place for move in step.moves] == [True, True, False]


def test_what_the_engine_moved_is_shown_as_it_was(steps: Build, verify: Build) -> None:
    backwards = {"event": "move", "step": 1, "src": [100, 101, 102], "tgt": [100, 101, 103]}
    last = steps(verify(), backwards).verify(0).moves[-1]
    assert (last.source, last.target, last.engine_source, last.engine_target) == (103, 102, 102, 103)
    short = {"event": "move", "step": 1, "src": [100, 101, 0], "tgt": [100, 101, 0]}
    assert steps(verify(), short).verify(0).moves[-1].engine_source is None
    assert steps(verify()).verify(0).moves[-1].engine_target is None


def test_lengths_before_the_verify_bound_it(steps: Build, verify: Build) -> None:
    def lengths(committed: int, allocated: int, epoch: int = 1) -> dict[str, Any]:
        line = {"event": "lengths", "request": "a", "row": 1, "epoch": epoch}
        return line | {"committed": committed, "allocated": allocated}

    found = steps(lengths(10, 20), lengths(10, 24), lengths(7, 7, epoch=2), verify(), lengths(13, 24))
    assert found.verify(0).bounds == KVBounds(committed=10, allocated=24)
    assert steps(verify()).verify(0).bounds is None


def test_finding_a_step(steps: Build, verify: Build) -> None:
    index = steps(verify(), verify(request="b", row=2), verify(step=2))
    assert len(index) == 3
    assert (index.find(1), index.find(1, "b"), index.find(2, "b")) == ([0, 1], [1], [])
    assert index.request == ["a", "b", "a"]
    with pytest.raises(IndexError):
        index.verify(3)


def test_missing_columns_leave_gaps_not_errors(steps: Build) -> None:
    bare = steps({"event": "accept", "step": 1, "request": "a"}).verify(0)
    assert (bare.accepted, bare.moves, bare.tree.tokens, bare.out_cache_loc) == ((), (), (), None)
    chain = steps({"event": "accept", "layout": "chain", "draft_tokens": [1, 2, 3], "accept_len": 2}).verify(
        0
    )
    assert chain.accepted == (0, 1)
    assert chain.tree.is_chain
    assert chain.kv_tokens == (1, 2)
    assert chain.output_tokens == (None, None)
