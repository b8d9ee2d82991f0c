"""Rows recorded together are the rows that they would have been one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from speckv_debug.recording.blocks import Block, Cut, Each, blocks_to_batch
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.recorder import Recorder
from speckv_debug.recording.rows import to_batch

SHARED = ["a", "b"]
BLOCKS = [
    Block(
        "accept",
        2,
        {
            "t_ns": 7,
            "step": 3,
            "algorithm": "eagle",
            "request": Each(SHARED),
            "row": Each([1, None]),
            "epoch": Each(np.array([4, 5])),
            "draft_tokens": Cut(np.arange(6, dtype=np.int32), 3),
            "positions": Cut(np.arange(8), [1, 3], stride=4),
            "out_cache_loc": Cut(np.arange(3), [0, 3]),
            "predict": Cut(np.arange(9), 2, stride=4),
        },
        seq=10,
    ),
    Block("accept", 1, {"t_ns": 8, "request": "c", "draft_tokens": [9], "row": 2}, seq=12),
    Block("accept", 2, {"t_ns": 9, "request": Each(SHARED), "epoch": Each([6, 7]), "row": 3}, seq=13),
]


def test_a_batch_of_blocks_is_the_batch_of_their_rows() -> None:
    rows = [row for block in BLOCKS for row in block.as_rows()]
    assert blocks_to_batch("accept", BLOCKS).equals(to_batch("accept", rows))
    assert [row["seq"] for row in rows] == [10, 11, 12, 13, 14]
    assert rows[1]["positions"] == [4, 5, 6] and rows[1]["predict"] == [4, 5]


@pytest.mark.parametrize(
    "columns",
    [
        {"request": Each(["a"])},
        {"row": Each(np.array([1, 2, 3]))},
        {"draft_tokens": Cut(np.arange(5), [2, 2])},
        {"draft_tokens": Cut(np.arange(4.0), 2)},
        {"draft_tokens": Cut(np.array([1, 2, 3, 1 << 40]), 2)},
    ],
)
def test_columns_that_do_not_fit_their_rows_are_refused(columns: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        blocks_to_batch("accept", [Block("accept", 2, {"t_ns": 1, **columns})])


def test_blocks_and_single_events_share_one_dense_order(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.speckv", {})
    recorder.emit("lengths", step=0, row=9)
    recorder.emit_rows("lengths", 3, {"step": 1, "row": Each([1, 2, 3]), "cause": "spec_prepare"})
    recorder.emit_rows("lengths", 0, {"step": 1})
    recorder.emit("lengths", step=2, row=9)
    recorder.close()
    (process,) = Recording.open(recorder.folder.parent).processes
    events = list(process.events())
    assert [event.seq for event in events] == [0, 1, 2, 3, 4]
    assert [(event.step, event.row) for event in events] == [(0, 9), (1, 1), (1, 2), (1, 3), (2, 9)]
    assert not process.problems


def test_a_block_that_can_not_be_kept_is_one_drop_an_event(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.speckv", {})
    recorder.emit_rows("lengths", 2, {"row": Each([1, 2, 3])})
    recorder.emit_rows("lengths", 2, {"row": Each([1, "x"])})
    recorder.close()
    (process,) = Recording.open(recorder.folder.parent).processes
    assert process.table("drop").column("seq").to_pylist() == [0, 1, 3]
    assert process.table("lengths").column("row").to_pylist() == [1]
    assert not process.gaps()
