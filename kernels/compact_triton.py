"""Accepted rows to the front in Triton, one launch. The contract stands in `compact.py`."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from speckv_debug.kernels.slots import geometry, row_view
from speckv_debug.kernels.vectors_triton import next_tile

WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32}
COLUMNS = 1024  # elements of a row that a program copies
TILE = 4096  # elements of all its rows


def compact_accepted(x: Tensor, accept_index: Tensor, width: int) -> Tensor:
    """See `compact.compact_accepted`."""
    x, index = x.contiguous(), accept_index.contiguous()
    out = torch.empty_like(x)
    if not x.numel():
        return out
    shape = geometry(row_view(x))
    columns = next_tile(shape.row, COLUMNS)
    rows = min(TILE // columns, triton.next_power_of_2(len(x)))
    words = (t.view(-1).view(WORDS[shape.element]) for t in (x, out))
    grid = (triton.cdiv(len(x), rows), triton.cdiv(shape.row, columns))
    _compact[grid](*words, index, len(x), width, index.shape[1], ROW=shape.row, ROWS=rows, COLUMNS=columns)
    return out


@triton.jit(do_not_specialize=["n", "width", "kept"])
def _compact(x, out, index, n, width, kept, ROW: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    place = row % width
    front = (row < n) & (place < kept)
    source = tl.load(index + row // width * kept + place, front, other=0).to(tl.int64)
    source = tl.where(front, tl.maximum(source, 0), row)
    e = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    inside = (row < n)[:, None] & (e < ROW)
    value = tl.load(x + source[:, None] * ROW + e, inside)
    tl.store(out + row[:, None] * ROW + e, value, inside)
