"""Compactions of a verify, and its result by the kernels beside the recorded one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.recording.reader import Recording
from speckv_debug.replay.verify_table import VerifyTable

VERIFY: dict[str, Any] = {
    "event": "accept", "step": 1, "request": "7", "row": 7, "epoch": 1, "batch_index": 0, "algorithm": "eagle",
    "layout": "tree", "sampling": "greedy", "topk": 2, "width": 4, "block_start": 0, "seq_len": 4096,
    "draft_tokens": [11, 21, 22, 23], "next_token": [1, 3, -1, -1], "next_sibling": [-1, 2, -1, -1],
    "target_predict": [21, 23, 0, 31], "predict": [21, 23, 0, 31], "accept_index": [0, 1, 3], "accept_len": 3,
    "num_correct_drafts": 2, "out_cache_loc": [80, 81, 82, 83], "table_slots": [80, 81, 82, 83],
    "new_seq_len": 4099, "bonus_token": 31,
}  # fmt: skip
COMPACT = {
    "event": "compact",
    "step": 1,
    "tensor": "predict",
    "before": [21, 23, 0, 31],
    "after": [21, 23, 31, 31],
}


@pytest.fixture
def table(record: Callable[..., Recording]) -> Callable[..., VerifyTable]:
    return lambda *lines: VerifyTable(record(*lines).processes[0])


def test_accepted_rows_before_and_behind_a_compaction(table: Callable[..., VerifyTable]) -> None:
    (tensor,) = table(VERIFY, COMPACT).compacted(0)
    assert (tensor.tensor, tensor.rows) == ("predict", (0, 1, 3))
    assert tensor.before == tensor.after == (21, 23, 31)
    assert tensor.moved_right is True


def test_a_value_that_did_not_arrive(table: Callable[..., VerifyTable]) -> None:
    (tensor,) = table(VERIFY, {**COMPACT, "after": [21, 23, 0, 31]}).compacted(0)
    assert tensor.after == (21, 23, 0) and tensor.moved_right is False


def test_a_list_that_is_too_short_is_unknown(table: Callable[..., VerifyTable]) -> None:
    (tensor,) = table(VERIFY, {**COMPACT, "before": [21], "after": [21]}).compacted(0)
    assert tensor.moved_right is None


def test_without_a_compaction_there_is_none(table: Callable[..., VerifyTable]) -> None:
    assert table(VERIFY).compacted(0) == ()


def test_the_kernels_agree_with_a_sound_verify(table: Callable[..., VerifyTable]) -> None:
    rows, bonus, length = table(VERIFY).recomputed(0)
    assert (rows.recorded, rows.replayed, rows.same) == ("0 1 3", "0 1 3", True)
    assert (bonus.replayed, bonus.same, length.replayed, length.same) == ("31", True, "4099", True)


def test_the_kernels_say_what_should_have_been_accepted(table: Callable[..., VerifyTable]) -> None:
    wrong = {
        **VERIFY,
        "accept_index": [0, 2, -1],
        "accept_len": 2,
        "num_correct_drafts": 1,
        "new_seq_len": 4098,
    }
    rows, _, length = table(wrong).recomputed(0)
    assert (rows.recorded, rows.replayed, rows.same) == ("0 2", "0 1 3", False)
    assert (length.recorded, length.replayed, length.same) == ("4098", "4099", False)


def test_what_can_not_be_computed_says_why(table: Callable[..., VerifyTable]) -> None:
    rows, *_ = table({**VERIFY, "target_predict": None, "predict": None}).recomputed(0)
    assert rows.same is None and rows.replayed.startswith("not computed: ")
