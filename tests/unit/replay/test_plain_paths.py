"""Moves and compactions of plain verifies are judged by compiled code as by columns."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speckv_debug.checks.move import compacted_rows, move_before_read, moved_pairs
from speckv_debug.model.process import Process
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.replay import worthwhile
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.compactions import Compactions
from speckv_debug.replay.moves import MoveCalls, Relocations
from speckv_debug.replay.pairs import DuePairs, PairMatch
from speckv_debug.replay.readers import NextReads
from speckv_debug.replay.settlements import Settlements
from speckv_debug.replay.stray_calls import StrayCalls
from speckv_debug.replay.united import United
from speckv_debug.replay.verifies import VerifyBatch

Tables = dict[str, list[dict[str, Any]]]
TREE: dict[str, Any] = {
    "layout": "tree", "sampling": "greedy", "algorithm": "eagle", "width": 4, "next_token": [1, 3, -1, -1],
    "next_sibling": [-1, 2, -1, -1], "draft_tokens": [5, 6, 7, 8], "predict": [6, 8, 0, 9], "accept_len": 3,
    "num_correct_drafts": 2, "bonus_token": 9, "seq_len": 8,
}  # fmt: skip
FIRST = {
    "request": "a", "row": 1, "epoch": 1, "batch_index": 0, "block_start": 0, "accept_index": [0, 1, 3, -1],
    "out_cache_loc": [20, 21, 22, 23], "table_slots": [20, 21, 22, 23],
}  # fmt: skip
SECOND = {
    "request": "b", "row": 2, "epoch": 1, "batch_index": 1, "block_start": 4, "accept_index": [4, 5, 7, -1],
    "out_cache_loc": [30, 31, 32, 33], "table_slots": [30, 31, 32, 33],
}  # fmt: skip
MOVE = {
    "src": [20, 21, 23, 30, 31, 33, 0, 0],
    "tgt": [20, 21, 22, 30, 31, 32, 0, 0],
    "caller": "accept",
    "pool": "full",
}
COMPACT = {"tensor": "predict", "before": [6, 8, 0, 9] * 2, "after": [6, 8, 9, 9] * 2}
LISTS = {
    "accept": ("accept_index", "out_cache_loc", "table_slots", "predict"), "move": ("src", "tgt"),
    "compact": ("before", "after"),
}  # fmt: skip
OTHERS = {
    "accept": (("batch_index", 2), ("batch_index", None), ("block_start", 1), ("accept_len", 2), ("step", 1)),
    "move": (("caller", "draft_tail"), ("step", 1), ("pool", "draft")),
    "compact": (("tensor", "hidden_states"), ("step", 1)),
}  # fmt: skip


def tables() -> Tables:
    accepts = [TREE | FIRST | {"seq": 1, "step": 0}, TREE | SECOND | {"seq": 2, "step": 0}]
    read = {
        "mode": "target_verify",
        "request": "a",
        "row": 1,
        "epoch": 1,
        "step": 1,
        "seq": 9,
        "pool": "full",
    }
    return deepcopy(
        {
            "accept": accepts,
            "move": [MOVE | {"seq": 3, "step": 0}],
            "compact": [COMPACT | {"seq": 4, "step": 0}],
            "forward": [read, read | {"request": "b", "row": 2, "seq": 10}],
        }
    )


@st.composite
def changed(draw: st.DrawFn) -> Tables:
    """A step of two verifies, with a value or two changed."""
    found = tables()
    for _ in range(draw(st.integers(0, 2))):
        table = draw(st.sampled_from(list(LISTS)))
        event, name = draw(st.sampled_from(found[table])), draw(st.sampled_from(LISTS[table]))
        match draw(st.integers(0, 4)):
            case 0:
                other, value = draw(st.sampled_from(OTHERS[table]))
                event[other] = value
            case 1:
                event[name] = draw(st.sampled_from((None, event[name] and event[name][:-1])))
            case _ if event[name]:
                at = draw(st.integers(0, len(event[name]) - 1))
                event[name][at] = draw(st.integers(-1, 9) | st.integers(20, 33))
    if draw(st.booleans()):
        found[draw(st.sampled_from(("move", "compact")))].clear()
    return found


def scopes(of: Tables) -> tuple[United, Compactions, Settlements]:
    info = Process(
        label="p",
        engine="sglang",
        engine_version="",
        settings={},
        tables=("accept", "move", "compact", "forward"),
    )

    def columns(name: str) -> Columns:
        return Columns(pa.Table.from_pylist(of.get(name, []), schema=SCHEMAS[name]))

    batch = VerifyBatch(columns("accept"), info)
    relocations = Relocations(batch, MoveCalls(columns("move"), info))
    match = PairMatch(DuePairs(batch), relocations)
    settled = Settlements(columns, match, NextReads(columns, batch, info))
    return United(match, StrayCalls(relocations)), Compactions(columns("compact"), batch), settled


def said(law: Callable[[Any], Any], at: int, of: Tables, compiled_from: int) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worthwhile, "COMPILED_FROM", compiled_from)
        scope = scopes(of)[at]
        found = law(scope)
        return found.failed.tolist(), {why: i.tolist() for why, i in found.unknown.items()}, len(scope)


@settings(max_examples=400, deadline=None)
@given(changed())
def test_calls_of_a_step(of: Tables) -> None:
    for at, law in enumerate((moved_pairs, compacted_rows, move_before_read)):
        assert said(law, at, of, 0) == said(law, at, of, 1 << 60)


def test_a_step_as_it_should_be_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worthwhile, "COMPILED_FROM", 0)
    moved, compactions, settled = scopes(tables())
    assert moved.parts[0].plain and compactions.plain
    assert settled.moving.all() and not len(settled.suspects)
