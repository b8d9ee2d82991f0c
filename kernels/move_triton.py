"""`KV[tgt] <- KV[src]` on the GPU: a plan, then one launch for each layout that the pool's components have.

The launch reads in the plan what it has to be. Without conflicts programs share the pairs out among themselves and copy
straight on. With conflicts each program owns a slice of bytes of one component and takes all pairs through it in order
of their chunks, having read first what the plan holds back: whoever owns a slice needs no other program's progress. Both
are one kernel, so that the host need not know which it was.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from speckv_debug.kernels.move_plan_triton import plan_move
from speckv_debug.kernels.slots import Geometry, Group, SlotBuffers
from speckv_debug.kernels.vectors_triton import element_offset, element_type, next_tile, programs, slot_offset

HOLDING_BYTES = 1 << 30


class Tuning(NamedTuple):
    """Sizes found by `benchmarks/kernel_move.py --sweep` on an H200.

    Attributes:
        tile_bytes: What a program copies at once where there are no conflicts.
        slice_bytes: Bytes of a slot that a program owns where there are.
        chunk: Pairs that it reads before it writes.
        warps: Warps a program.
        per_sm: Programs a multiprocessor.
        alone: Up to so many pairs one program plans in one launch.
    """

    tile_bytes: int = 32768
    slice_bytes: int = 256
    chunk: int = 128
    warps: int = 8
    per_sm: int = 4
    alone: int = 1024


TUNING = Tuning()


def move_slots(buffers: SlotBuffers, targets: Tensor, sources: Tensor, tuning: Tuning = TUNING) -> None:
    """See `move.move_slots`. Takes at most 1 GiB for held rows, from torch's allocator, for the time of the call."""
    if len(targets) == 0:
        return
    targets, sources = targets.contiguous(), sources.contiguous()
    plan = plan_move(buffers, targets, sources, tuning.chunk, tuning.alone)
    release = True
    for group in buffers.groups:
        _launch(buffers, group, plan, len(targets), release, tuning)
        release = False


def _launch(buffers: SlotBuffers, group: Group, plan: Tensor, n: int, release: bool, tuning: Tuning) -> None:
    shape, count = group.geometry, len(group.pointers)
    columns = next_tile(shape.row, tuning.tile_bytes // shape.element)
    rows = max(1, tuning.tile_bytes // (columns * shape.element))
    rows = min(rows, max(16, triton.next_power_of_2(n)))
    piece = min(triton.next_power_of_2(shape.row), max(1, tuning.slice_bytes // shape.element))
    jobs = count * triton.cdiv(shape.row, piece)
    grid = programs(buffers.device, tuning.per_sm)
    owners, holding = _holding(shape, n, piece, min(grid, jobs), buffers.device)
    _copy[(grid,)](
        plan,
        buffers.claims,
        group.pointers,
        holding,
        n,
        count,
        owners,
        *shape,
        ELEMENT=element_type(shape),
        ROWS=rows,
        COLUMNS=columns,
        CHUNK=tuning.chunk,
        SLICE=piece,
        RELEASE=release,
        num_warps=tuning.warps,
        num_stages=1,
    )


def _holding(shape: Geometry, n: int, piece: int, wanted: int, device: torch.device) -> tuple[int, Tensor]:
    """How many programs may own slices, and the place where each keeps n / 2 rows of its slice."""
    each = max(1, n // 2) * piece * shape.element
    owners = max(1, min(wanted, HOLDING_BYTES // each))
    return owners, torch.empty(owners * each, dtype=torch.uint8, device=device)


@triton.jit(do_not_specialize=["n", "count", "owners"])
def _copy(
    plan,
    claims,
    pointers,
    holding,
    n,
    count,
    owners,
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
    CHUNK: tl.constexpr,
    SLICE: tl.constexpr,
    RELEASE: tl.constexpr,
):
    me = tl.program_id(0)
    wide = n.to(tl.int64)
    counters = plan + 6 * wide
    if RELEASE:
        _release(plan, claims, n, CHUNK)
    if tl.load(counters + 2) == 0:
        blocks = tl.cdiv(n, ROWS)
        across = (PIECES * PIECE + COLUMNS - 1) // COLUMNS
        for tile in range(me, count * across * blocks, tl.num_programs(0)):
            base = _base(pointers + tile // (across * blocks), ELEMENT, ALIGN)
            e = tile // blocks % across * COLUMNS + tl.arange(0, COLUMNS)
            i = tile % blocks * ROWS + tl.arange(0, ROWS)
            to = tl.load(plan + i, i < n, other=-1)
            frm = tl.load(plan + wide + i, i < n, other=0)
            part = element_offset(e, PIECES, PIECE_STRIDE, PIECE)[None, :]
            live = (to >= 0)[:, None] & (e < PIECES * PIECE)[None, :]
            value = tl.load(base + slot_offset(frm, PAGE, PAGE_STRIDE, SLOT_STRIDE)[:, None] + part, live)
            tl.store(base + slot_offset(to, PAGE, PAGE_STRIDE, SLOT_STRIDE)[:, None] + part, value, live)
    elif me < owners:
        up = tl.load(counters)
        down = tl.load(counters + 1)
        hold = plan + tl.where(up <= down, 2, 3) * wide
        kept = plan + tl.where(up <= down, 4, 5) * wide
        held = tl.minimum(up, down)
        room = tl.maximum(wide // 2, 1) * SLICE
        own = tl.multiple_of((holding.to(tl.pointer_type(ELEMENT)) + me * room), ALIGN)
        across = (PIECES * PIECE + SLICE - 1) // SLICE
        chunks = tl.cdiv(n, CHUNK)
        column = tl.arange(0, SLICE)
        for job in range(me, count * across, owners):
            base = _base(pointers + job // across, ELEMENT, ALIGN)
            e = job % across * SLICE + column
            part = element_offset(e, PIECES, PIECE_STRIDE, PIECE)[None, :]
            inside = (e < PIECES * PIECE)[None, :]
            for first in range(0, held, CHUNK):
                place = first + tl.arange(0, CHUNK)
                frm = tl.load(kept + place, place < held, other=0)
                live = (place < held)[:, None] & inside
                value = tl.load(base + slot_offset(frm, PAGE, PAGE_STRIDE, SLOT_STRIDE)[:, None] + part, live)
                tl.store(own + place.to(tl.int64)[:, None] * SLICE + column[None, :], value, live)
            tl.debug_barrier()  # what one thread held, another puts in place
            for turn in range(chunks):
                chunk = tl.where(up <= down, turn, chunks - 1 - turn)
                i = chunk * CHUNK + tl.arange(0, CHUNK)
                to = tl.load(plan + i, i < n, other=-1)
                frm = tl.load(plan + wide + i, i < n, other=0)
                place = tl.load(hold + i, i < n, other=0)
                live = (to >= 0)[:, None] & inside
                there = base + slot_offset(frm, PAGE, PAGE_STRIDE, SLOT_STRIDE)[:, None] + part
                here = own + (place - 1).to(tl.int64)[:, None] * SLICE + column[None, :]
                value = tl.load(tl.where((place > 0)[:, None], here, there), live)
                tl.debug_barrier()  # the chunk is read whole before the first of it is written
                tl.store(base + slot_offset(to, PAGE, PAGE_STRIDE, SLOT_STRIDE)[:, None] + part, value, live)


@triton.jit
def _base(pointer, ELEMENT: tl.constexpr, ALIGN: tl.constexpr):
    return tl.multiple_of(tl.load(pointer).to(tl.pointer_type(ELEMENT)), ALIGN)


@triton.jit
def _release(plan, claims, n, CHUNK: tl.constexpr):
    """Take all claims back; each claimed slot is the target of the pair that won it."""
    for first in range(tl.program_id(0) * CHUNK, n, tl.num_programs(0) * CHUNK):
        i = first + tl.arange(0, CHUNK)
        to = tl.load(plan + i, i < n, other=-1)
        tl.store(claims + to, -1, to >= 0)
