"""Fingerprints of slots in Triton, one launch for each layout among the components. The contract stands in `fingerprint.py`."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from speckv_debug.kernels.fingerprint import FIRST, GOLDEN, SECOND
from speckv_debug.kernels.slots import Group, SlotBuffers
from speckv_debug.kernels.vectors_triton import element_offset, element_type, next_tile, programs, slot_offset


class Tuning(NamedTuple):
    """Sizes found by `benchmarks/kernel_fingerprint.py --sweep` on an H200.

    Attributes:
        tile: Elements that a program reads at once.
        rows: Slots of them, at least.
        warps: Warps a program.
        per_sm: Programs a multiprocessor, about.
    """

    tile: int = 4096
    rows: int = 8
    warps: int = 8
    per_sm: int = 16


TUNING = Tuning()


def fingerprints(buffers: SlotBuffers, slots: Tensor, tuning: Tuning = TUNING) -> Tensor:
    """See `fingerprint.fingerprints`; the sum is gathered by atomic additions, which give one result in any order."""
    out = torch.zeros(len(slots), dtype=torch.int64, device=slots.device)
    if len(slots):
        for group in buffers.groups:
            _launch(group, slots.contiguous(), out, tuning)
    return out


def _launch(group: Group, slots: Tensor, out: Tensor, tuning: Tuning) -> None:
    shape, count, n = group.geometry, len(group.pointers), len(slots)
    columns = next_tile(shape.row, tuning.tile // tuning.rows)
    rows = min(tuning.tile // columns, max(tuning.rows, triton.next_power_of_2(n)))
    blocks = triton.cdiv(n, rows)
    share = triton.cdiv(count, max(1, min(count, programs(slots.device, tuning.per_sm) // blocks)))
    _fingerprint[(blocks, triton.cdiv(count, share))](
        slots,
        group.pointers,
        group.first_words,
        out,
        n,
        count,
        share,
        *shape,
        ELEMENT=element_type(shape),
        ROWS=rows,
        COLUMNS=columns,
        num_warps=tuning.warps,
        num_stages=1,
    )


@triton.jit(do_not_specialize=["n", "count", "share"])
def _fingerprint(
    slots,
    pointers,
    first_words,
    out,
    n,
    count,
    share,
    BYTES: tl.constexpr,
    ALIGN: tl.constexpr,
    PAGE: tl.constexpr,
    PAGE_STRIDE: tl.constexpr,
    SLOT_STRIDE: tl.constexpr,
    PIECES: tl.constexpr,
    PIECE_STRIDE: tl.constexpr,
    PIECE: tl.constexpr,
    ELEMENT: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    slot = slot_offset(tl.load(slots + i, i < n, other=0), PAGE, PAGE_STRIDE, SLOT_STRIDE)[:, None]
    total = tl.zeros([ROWS, COLUMNS], tl.uint64)
    first = tl.program_id(1) * share
    for component in range(first, tl.minimum(first + share, count)):
        base = tl.load(pointers + component).to(tl.pointer_type(ELEMENT))
        base = tl.multiple_of(base, ALIGN)
        word = tl.load(first_words + component)
        for column in range(0, PIECES * PIECE, COLUMNS):
            e = (
                column + tl.arange(0, COLUMNS)[None, :]
            )  # in two dimensions: keys are made where they are used
            key = _key(word + e * BYTES // 4)
            if BYTES < 4:
                key = key << (e * BYTES % 4 * 8).to(tl.uint64)
            at = element_offset(e, PIECES, PIECE_STRIDE, PIECE)
            real = (i < n)[:, None] & (e < PIECES * PIECE)
            value = tl.load(base + slot + at, real, other=0)
            total += _unsigned(value, BYTES) * key
    tl.atomic_add(out + i, tl.sum(total, 1).to(tl.int64), i < n, sem="relaxed")


@triton.jit
def _unsigned(value, BYTES: tl.constexpr):
    if BYTES == 4:
        return value.to(tl.uint32, bitcast=True).to(tl.uint64)
    elif BYTES == 2:
        return value.to(tl.uint16, bitcast=True).to(tl.uint64)
    else:
        return value.to(tl.uint8, bitcast=True).to(tl.uint64)


@triton.jit
def _key(word):
    """`fingerprint.keys` of the words."""
    z = (word + 1).to(tl.uint64) * _GOLDEN
    z = (z ^ (z >> 30)) * _FIRST
    z = (z ^ (z >> 27)) * _SECOND
    return (z ^ (z >> 31)) | 1


_GOLDEN, _FIRST, _SECOND = tl.constexpr(GOLDEN), tl.constexpr(FIRST), tl.constexpr(SECOND)
