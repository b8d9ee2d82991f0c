"""`KV[tgt] <- KV[src]` on the GPU: a plan, then one launch for each layout that the pool's components have.

The launch reads in the plan what it has to be. Without conflicts programs share the pairs out among themselves and copy
straight on. With conflicts each program owns a slice of bytes of one component and takes all pairs through it in order
of their chunks, having read first what the plan holds back: whoever owns a slice needs no other program's progress. Both
are one kernel, so that the host need not know which it was. Where the GPU can, it starts while the plan is still made,
and each program reads its first rows meanwhile: nothing is written before the plan is there.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra.cuda import gdc_wait

from speckv_debug.kernels.move_plan_triton import pairs_at, plan_move
from speckv_debug.kernels.slots import Geometry, Group, SlotBuffers
from speckv_debug.kernels.vectors_triton import (
    early_start,
    element_offset,
    element_type,
    next_tile,
    programs,
    slot_offset,
    starts_early,
)

HOLDING_BYTES = 1 << 30
LEAST_TILE = 8192


class Tuning(NamedTuple):
    """Sizes found by `benchmarks/kernel_move.py --sweep` on an H200.

    Attributes:
        tile_bytes: What a program copies at once where there are no conflicts.
        slice_bytes: Bytes of a slot that a program owns where there are.
        chunk: Pairs that it reads before it writes.
        warps: Warps a program.
        per_sm: Programs a multiprocessor.
        alone: Up to so many pairs one program plans in one launch.
        overlap: Whether the copy starts before the plan is done, where the GPU can.
    """

    tile_bytes: int = 32768
    slice_bytes: int = 256
    chunk: int = 128
    warps: int = 8
    per_sm: int = 4
    alone: int = 1024
    overlap: bool = True


TUNING = Tuning()


def move_slots(buffers: SlotBuffers, targets: Tensor, sources: Tensor, tuning: Tuning = TUNING) -> None:
    """See `move.move_slots`. Takes at most 1 GiB for held rows, from torch's allocator, for the time of the call."""
    if len(targets) == 0:
        return
    targets, sources = targets.contiguous(), sources.contiguous()
    tuning = tuning._replace(overlap=tuning.overlap and starts_early(buffers.device))
    plan = plan_move(buffers, targets, sources, tuning.chunk, tuning.alone, tuning.overlap)
    for k, group in enumerate(buffers.groups):
        _launch(buffers, group, plan, targets, sources, k == 0, tuning)


def _launch(
    buffers: SlotBuffers,
    group: Group,
    plan: Tensor,
    targets: Tensor,
    sources: Tensor,
    release: bool,
    tuning: Tuning,
) -> None:
    shape, count, n = group.geometry, len(group.pointers), len(targets)
    columns = next_tile(shape.row, tuning.tile_bytes // shape.element)
    piece = min(triton.next_power_of_2(shape.row), max(1, tuning.slice_bytes // shape.element))
    jobs = count * triton.cdiv(shape.row, piece)
    grid = programs(buffers.device, tuning.per_sm)
    rows = _tile_rows(shape, count, n, columns, grid, tuning.tile_bytes)
    owners, holding = _holding(shape, n, piece, min(grid, jobs), buffers.device)
    _copy[(grid,)](
        plan,
        buffers.claims,
        targets,
        sources,
        group.pointers,
        holding,
        n,
        buffers.slots,
        count,
        owners,
        *shape,
        ELEMENT=element_type(shape),
        ROWS=rows,
        COLUMNS=columns,
        CHUNK=tuning.chunk,
        SLICE=piece,
        RELEASE=release,
        OVERLAP=tuning.overlap,
        num_warps=tuning.warps,
        num_stages=1,
        **early_start(tuning.overlap),
    )


def _tile_rows(shape: Geometry, count: int, n: int, columns: int, grid: int, tile_bytes: int) -> int:
    """Pairs of a tile: fewer where there would be less than a tile for each program."""
    width, across = columns * shape.element, triton.cdiv(shape.row, columns)
    rows: int = min(max(1, tile_bytes // width), max(16, triton.next_power_of_2(n)))
    while rows * width > LEAST_TILE and count * across * triton.cdiv(n, rows) < grid:
        rows //= 2
    return rows


def _holding(shape: Geometry, n: int, piece: int, wanted: int, device: torch.device) -> tuple[int, Tensor]:
    """How many programs may own slices, and the place where each keeps n / 2 rows of its slice."""
    each = max(1, n // 2) * piece * shape.element
    owners = max(1, min(wanted, HOLDING_BYTES // each))
    return owners, torch.empty(owners * each, dtype=torch.uint8, device=device)


@triton.jit(do_not_specialize=["n", "slots", "count", "owners"])
def _copy(
    plan,
    claims,
    targets,
    sources,
    pointers,
    holding,
    n,
    slots,
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
    OVERLAP: tl.constexpr,
):
    me, step = tl.program_id(0), tl.num_programs(0)
    wide = n.to(tl.int64)
    across = (PIECES * PIECE + COLUMNS - 1) // COLUMNS
    tiles = count * across * tl.cdiv(n, ROWS)
    base, e, i = _tile(pointers, me, tiles, n, ELEMENT, ALIGN, ROWS, COLUMNS, across)
    part = element_offset(e, PIECES, PIECE_STRIDE, PIECE)[None, :]
    _, frm, read = pairs_at(targets, sources, i, n, slots)
    there = base + slot_offset(frm, PAGE, PAGE_STRIDE, SLOT_STRIDE)[:, None] + part
    value = tl.load(there, read[:, None] & (e < PIECES * PIECE)[None, :])
    if OVERLAP:
        gdc_wait()
    to = tl.load(plan + i, i < n, other=-1)
    if tl.load(plan + 5 * wide + 2) == 0:
        for tile in range(me, tiles, step):
            live = (to >= 0)[:, None] & (e < PIECES * PIECE)[None, :]
            tl.store(base + slot_offset(to, PAGE, PAGE_STRIDE, SLOT_STRIDE)[:, None] + part, value, live)
            base, e, i = _tile(pointers, tile + step, tiles, n, ELEMENT, ALIGN, ROWS, COLUMNS, across)
            part = element_offset(e, PIECES, PIECE_STRIDE, PIECE)[None, :]
            to = tl.load(plan + i, i < n, other=-1)
            frm = tl.load(sources + i, to >= 0, other=0).to(tl.int64)
            there = base + slot_offset(frm, PAGE, PAGE_STRIDE, SLOT_STRIDE)[:, None] + part
            value = tl.load(there, (to >= 0)[:, None] & (e < PIECES * PIECE)[None, :])
    elif me < owners:
        _in_order(
            plan,
            sources,
            pointers,
            holding,
            n,
            count,
            owners,
            ALIGN,
            PAGE,
            PAGE_STRIDE,
            SLOT_STRIDE,
            PIECES,
            PIECE_STRIDE,
            PIECE,
            ELEMENT,
            CHUNK,
            SLICE,
        )
    if RELEASE:
        _release(plan, claims, n, CHUNK)


@triton.jit
def _tile(
    pointers,
    tile,
    tiles,
    n,
    ELEMENT: tl.constexpr,
    ALIGN: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    ACROSS: tl.constexpr,
):
    """A tile's component, its elements of a slot and its pairs: pairs from n on if it is behind the last tile."""
    beyond = 1 - tl.minimum(tl.maximum(tiles - tile, 0), 1)
    tile = tl.minimum(tile, tiles - 1)
    blocks = tl.cdiv(n, ROWS)
    base = _base(pointers + tile // (ACROSS * blocks), ELEMENT, ALIGN)
    e = tile // blocks % ACROSS * COLUMNS + tl.arange(0, COLUMNS)
    return base, e, (tile % blocks * ROWS + beyond * n) + tl.arange(0, ROWS)


@triton.jit
def _in_order(
    plan,
    sources,
    pointers,
    holding,
    n,
    count,
    owners,
    ALIGN: tl.constexpr,
    PAGE: tl.constexpr,
    PAGE_STRIDE: tl.constexpr,
    SLOT_STRIDE: tl.constexpr,
    PIECES: tl.constexpr,
    PIECE_STRIDE: tl.constexpr,
    PIECE: tl.constexpr,
    ELEMENT: tl.constexpr,
    CHUNK: tl.constexpr,
    SLICE: tl.constexpr,
):
    """All pairs through the slices of this program, chunk by chunk, in the direction that holds less back."""
    me = tl.program_id(0)
    wide = n.to(tl.int64)
    up, down = tl.load(plan + 5 * wide), tl.load(plan + 5 * wide + 1)
    hold = plan + tl.where(up <= down, 1, 2) * wide
    kept = plan + tl.where(up <= down, 3, 4) * wide
    held = tl.minimum(up, down)
    room = tl.maximum(wide // 2, 1) * SLICE
    own = tl.multiple_of((holding.to(tl.pointer_type(ELEMENT)) + me * room), ALIGN)
    slices = (PIECES * PIECE + SLICE - 1) // SLICE
    chunks = tl.cdiv(n, CHUNK)
    column = tl.arange(0, SLICE)
    for job in range(me, count * slices, owners):
        base = _base(pointers + job // slices, ELEMENT, ALIGN)
        e = job % slices * SLICE + column
        part = element_offset(e, PIECES, PIECE_STRIDE, PIECE)[None, :]
        inside = (e < PIECES * PIECE)[None, :]
        for first in range(0, held, CHUNK):
            place = first + tl.arange(0, CHUNK)
            frm = tl.load(kept + place, place < held, other=0).to(tl.int64)
            live = (place < held)[:, None] & inside
            value = tl.load(base + slot_offset(frm, PAGE, PAGE_STRIDE, SLOT_STRIDE)[:, None] + part, live)
            tl.store(own + place.to(tl.int64)[:, None] * SLICE + column[None, :], value, live)
        tl.debug_barrier()  # what one thread held, another puts in place
        for turn in range(chunks):
            chunk = tl.where(up <= down, turn, chunks - 1 - turn)
            i = chunk * CHUNK + tl.arange(0, CHUNK)
            to = tl.load(plan + i, i < n, other=-1)
            frm = tl.load(sources + i, to >= 0, other=0).to(tl.int64)
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
