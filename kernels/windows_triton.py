"""Stretches of the rows of req_to_token in one launch of its own, where torch needs five."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

BLOCK = 128
THREADS = 128


@triton.jit(
    do_not_specialize=["stride", "last", "width"],
    do_not_specialize_on_alignment=["table", "rows", "starts", "out"],
)
def _windows(table, rows, starts, out, stride, last, width, BLOCK: tl.constexpr):
    mine = tl.program_id(0)
    row, start = tl.load(rows + mine).to(tl.int64), tl.load(starts + mine).to(tl.int64)
    for first in range(0, width, BLOCK):
        at = first + tl.arange(0, BLOCK)
        column = tl.minimum(start + at, last)
        entries = tl.load(table + row * stride + column, at < width)
        tl.store(out + mine * width + at, entries, at < width)


def windows(table: Tensor, rows: Tensor, starts: Tensor, out: Tensor, width: int) -> Any:
    """`table[row, start : start + width]` of many rows; what would lie past the end repeats the last entry.

    Args:
        table: `[rows, columns]` int32, a row's entries side by side.
        rows: `[n]` int32 or int64.
        starts: `[n]` int32 or int64, none negative.
        out: `[n * width]` int32, written.
        width: Entries of each, 1 or more.
    """
    return _windows[(len(rows),)](
        table,
        rows,
        starts,
        out,
        table.stride(0),
        table.shape[1] - 1,
        width,
        BLOCK=BLOCK,
        num_warps=THREADS // 32,
    )
