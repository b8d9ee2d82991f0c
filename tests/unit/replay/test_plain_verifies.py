"""Verifies that compiled code calls plain are those of which the laws on single verifies say nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speckv_debug.checks.accept import TOO_SHORT, accept_block, accept_chain, accept_count, accept_shift
from speckv_debug.checks.location import verify_slots_from_row
from speckv_debug.checks.rule import Judgement
from speckv_debug.model.process import Process
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.replay import worthwhile
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.verifies import VerifyBatch

LAWS = (accept_count, accept_block, accept_chain, accept_shift, verify_slots_from_row)
VERIFY: dict[str, Any] = {
    "row": 1, "step": 0, "request": "a", "layout": "tree", "sampling": "greedy", "width": 4, "block_start": 4,
    "next_token": [1, 3, -1, -1], "next_sibling": [-1, 2, -1, -1], "draft_tokens": [5, 6, 7, 8],
    "target_predict": [6, 8, 0, 9], "predict": [6, 8, 0, 9], "accept_index": [4, 5, 7, -1], "accept_len": 3,
    "num_correct_drafts": 2, "bonus_token": 9, "out_cache_loc": [20, 21, 22, 23], "table_slots": [20, 21, 22, 23],
}  # fmt: skip
CHAIN = {"accept_index": [4, 5, 6], "predict": [6, 7, 9, 0], "target_predict": [6, 7, 9, 0]}
CHANGES = {
    "row": (0,),
    "request": (None,),
    "layout": ("chain", None),
    "sampling": ("simulated", "rejection", None),
    "width": (None, 3, 5, 0),
    "block_start": (None, 0, 3),
    "accept_len": (None, 0, 1, 2, 4),
    "batch_index": (None, 0, 1),
    "num_correct_drafts": (None, 0, 3),
    "bonus_token": (None, 8),
}
LISTS = [name for name, value in VERIFY.items() if isinstance(value, list)]


@st.composite
def verifies(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Some plain verifies, in which a value or two may be another."""
    rows = [
        dict(VERIFY) | {"step": draw(st.integers(at, 3)), "request": "abc"[at]}
        for at in range(draw(st.integers(1, 3)))
    ]
    for _ in range(draw(st.integers(0, 2))):
        row = draw(st.sampled_from(rows))
        name = draw(st.sampled_from([*CHANGES, *LISTS, *LISTS]))
        if name in CHANGES:
            row[name] = draw(st.sampled_from(CHANGES[name]))
        elif draw(st.integers(0, 4)) == 0:
            row[name] = draw(st.sampled_from((None, [], VERIFY[name][:3], [*VERIFY[name], -1])))
        elif row[name]:
            row[name] = list(row[name])
            row[name][draw(st.integers(0, len(row[name]) - 1))] = draw(
                st.integers(-2, 9) | st.integers(20, 24)
            )
        if row["layout"] == "chain" and draw(st.booleans()):
            row.update(CHAIN)
    return rows


def batch(rows: list[dict[str, Any]], **settings: Any) -> VerifyBatch:
    numbered = [{"seq": seq, **row} for seq, row in enumerate(rows)]
    info = Process(label="p", engine="sglang", engine_version="", settings=settings)
    return VerifyBatch(Columns(pa.Table.from_pylist(numbered, schema=SCHEMAS["accept"])), info)


def said(law: Callable[[VerifyBatch], Judgement], of: VerifyBatch, compiled_from: int) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worthwhile, "COMPILED_FROM", compiled_from)
        found = law(of)
    return found.failed.tolist(), {why: at.tolist() for why, at in found.unknown.items()}


@settings(max_examples=400, deadline=None)
@given(verifies())
def test_nothing_else_is_said_of_plain_verifies(rows: list[dict[str, Any]]) -> None:
    for law in LAWS:
        assert said(law, batch(rows), 0) == said(law, batch(rows), 1 << 60)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"sampling": "rejection"},
        {"target_predict": None},
        {"num_correct_drafts": None},
        CHAIN | {"layout": "chain", "next_token": None},
    ],
)
def test_what_is_plain(change: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worthwhile, "COMPILED_FROM", 0)
    assert batch([VERIFY, VERIFY | {"step": 1} | change]).plain


@pytest.mark.parametrize("change", [{"draft_tokens": [5, 6, 7]}, {"predict": [6, 8], "target_predict": [6]}])
def test_lists_that_do_not_reach_all_accepted_rows_are_not_judged(change: dict[str, Any]) -> None:
    for law in (accept_chain, accept_shift):
        assert said(law, batch([VERIFY, VERIFY | change]), 0) == ([], {TOO_SHORT: [1]})


@pytest.mark.parametrize("settings", [{"watermark": True}, {"num_non_draft": "?"}, {"simulate_acc_len": 2.0}])
def test_engines_whose_verifies_are_not_plain(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worthwhile, "COMPILED_FROM", 0)
    assert not batch([VERIFY | {"sampling": None}], **settings).plain
