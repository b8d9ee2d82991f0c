"""Compiled code follows accepted paths, gathers values and looks for slots named twice as plain columns do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speckv_debug.checks.accept import accept_chain
from speckv_debug.checks.location import written_slots_distinct
from speckv_debug.model.process import Process
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.replay import worthwhile
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import Ragged, starts
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.writes import ForwardWrites

FEW = st.integers(-1, 4)
FULL = st.none() | st.lists(FEW, min_size=3, max_size=3) | st.lists(FEW, max_size=5)
VERIFIES = st.lists(
    st.fixed_dictionaries(
        {
            "row": st.integers(0, 2),
            "step": st.none() | st.integers(0, 2),
            "request": st.sampled_from((None, "a")),
            "layout": st.sampled_from(("tree", "chain", None)),
            "sampling": st.sampled_from(("greedy", "simulated", None)),
            "width": st.sampled_from((3, 3, None)),
            "block_start": st.just(0),
            "accept_index": st.sampled_from(([0, 1, 2], [0, 2, -1], [0, 1, -1], [0, -1, -1], None)),
            "accept_len": st.sampled_from((None, 1, 2, 3)),
            "next_token": FULL,
            "next_sibling": FULL,
            "draft_tokens": FULL,
            "target_predict": FULL,
            "predict": FULL,
            "out_cache_loc": FULL,
        }
    ),
    max_size=8,
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "row": st.integers(0, 3),
            "step": st.none() | st.integers(0, 2),
            "mode": st.sampled_from(("extend", "decode", "target_verify", "draft", "idle")),
            "pool": st.sampled_from((None, "full", "other")),
            "slots": st.none() | st.lists(st.integers(-1, 9), max_size=4),
        }
    ),
    max_size=8,
)


def columns(table: str, rows: list[dict[str, Any]]) -> Columns:
    numbered = [{"seq": seq, **row} for seq, row in enumerate(rows)]
    return Columns(pa.Table.from_pylist(numbered, schema=SCHEMAS[table]))


def said(judge: Any, make: Any, compiled_from: int) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worthwhile, "COMPILED_FROM", compiled_from)
        found = judge(make())
    return found.failed.tolist(), {why: at.tolist() for why, at in found.unknown.items()}


@settings(max_examples=150, deadline=None)
@given(VERIFIES)
def test_edges_of_accepted_paths(rows: list[dict[str, Any]]) -> None:
    info = Process(label="p", engine="sglang", engine_version="", settings={})
    make = lambda: VerifyBatch(columns("accept", rows), info)
    assert said(accept_chain, make, 0) == said(accept_chain, make, 1 << 60)


@settings(max_examples=150, deadline=None)
@given(ROWS, VERIFIES)
def test_slots_written_by_one_forward(rows: list[dict[str, Any]], verifies: list[dict[str, Any]]) -> None:
    info = Process(label="p", engine="sglang", engine_version="", settings={})

    def make() -> ForwardWrites:
        return ForwardWrites(columns("forward", rows), VerifyBatch(columns("accept", verifies), info), info)

    assert said(written_slots_distinct, make, 0) == said(written_slots_distinct, make, 1 << 60)


@given(st.lists(st.lists(FEW, max_size=4), min_size=1, max_size=5), st.data())
def test_values_at_places(lists: list[list[int]], data: st.DataObject) -> None:
    values = np.array([value for each in lists for value in each], dtype=np.int64)
    column = Ragged(values, starts(np.array([len(each) for each in lists])), np.ones(len(lists), np.bool_))
    asked = data.draw(st.lists(st.tuples(st.integers(0, len(lists) - 1), st.integers(-2, 5)), max_size=9))
    which, places = (np.array([pair[at] for pair in asked], dtype=np.int64) for at in (0, 1))
    plain = column.at(which, places)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worthwhile, "COMPILED_FROM", 0)
        assert column.at(which, places).tolist() == plain.tolist()
