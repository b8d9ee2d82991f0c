"""Which pairs of a move copy something, and which have to be held back: decided on the GPU, for the copy to obey.

The plan is one int32 tensor of five lists of `n` and four counters:

    to               the pair's target, -1 where the pair moves nothing
    hold_up, _down   1 + place in the holding area, or 0 where the source may be read when the pair's turn comes
    kept_up, _down   source slots by place in the holding area
    counters         pairs to hold going up, going down, conflicts, unused

Without conflicts only `to` and the counters are written.

A copy that works through chunks of pairs, each read whole before it is written, goes wrong exactly where a source has
been written by an earlier chunk: those pairs are held, their sources read before the first write. `up` goes from the
first chunk to the last, `down` backwards; a pair is held in at most one of the two, so one of them
holds no more than n / 2.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from speckv_debug.kernels.slots import SlotBuffers
from speckv_debug.kernels.vectors_triton import early_start

LISTS = 5
BLOCK = 1024


def plan_move(
    buffers: SlotBuffers, targets: Tensor, sources: Tensor, chunk: int, alone: int, overlap: bool = False
) -> Tensor:
    """The plan of a move, `[5 n + 4]` int32; `buffers.claims` is left for the copy to clear.

    Args:
        buffers: The pool.
        targets, sources: `[n]`, contiguous.
        chunk: Pairs that an ordered copy reads before it writes.
        alone: Up to so many pairs one program plans in one launch.
        overlap: Whether the kernel behind may start before the plan is done (it then waits with `gdc_wait`).
    """
    n = len(targets)
    plan = torch.empty(LISTS * n + 4, dtype=torch.int32, device=targets.device)
    common = (plan, buffers.claims, targets, sources, n, buffers.slots)
    if n <= alone:
        block = max(32, triton.next_power_of_2(n))
        warps = max(1, min(8, block // 64))
        _plan_alone[(1,)](*common, CHUNK=chunk, BLOCK=block, OVERLAP=overlap, num_warps=warps)
        return plan
    grid = (triton.cdiv(n, BLOCK),)
    _claim[grid](*common, BLOCK=BLOCK, OVERLAP=overlap, num_warps=8)
    _route[grid](*common, CHUNK=chunk, BLOCK=BLOCK, OVERLAP=overlap, num_warps=8, **early_start(overlap))
    return plan


@triton.jit
def pairs_at(targets, sources, i, n, slots):
    """Slots of the pairs `i`, and which of them name two slots of the pool that differ."""
    to = tl.load(targets + i, i < n, other=0).to(tl.int64)
    frm = tl.load(sources + i, i < n, other=0).to(tl.int64)
    inside = (to >= 0) & (to < slots) & (frm >= 0) & (frm < slots)
    return to, frm, (i < n) & (to != frm) & inside


@triton.jit
def _conflicts(claims, to, frm, moves, i, CHUNK: tl.constexpr):
    """Pairs that write, and those whose source an earlier or a later chunk writes, or their own."""
    live = moves & (tl.load(claims + to, moves, other=-1, cache_modifier=".cg") == i)
    writer = tl.load(claims + frm, live, other=-1, cache_modifier=".cg")
    read = live & (writer >= 0)
    return live, read, read & (writer // CHUNK < i // CHUNK), read & (writer // CHUNK > i // CHUNK)


@triton.jit
def _hold(plan, which, held, first, frm, i, n):
    """Give the pairs `held` places from `first` on in the holding area of direction `which`."""
    place = first + tl.cumsum(held.to(tl.int32), 0)
    tl.store(plan + (1 + which) * n + i, tl.where(held, place, 0), i < n)
    tl.store(plan + (3 + which) * n + place - 1, frm.to(tl.int32), held)


@triton.jit(do_not_specialize=["n", "slots"])
def _plan_alone(
    plan,
    claims,
    targets,
    sources,
    n,
    slots,
    CHUNK: tl.constexpr,
    BLOCK: tl.constexpr,
    OVERLAP: tl.constexpr,
):
    if OVERLAP:
        gdc_launch_dependents()
    n = n.to(tl.int64)
    i = tl.arange(0, BLOCK)
    to, frm, moves = pairs_at(targets, sources, i, n, slots)
    tl.atomic_max(claims + to, i, moves, sem="relaxed")
    tl.debug_barrier()  # a claim is read by other threads than made it
    live, read, up, down = _conflicts(claims, to, frm, moves, i, CHUNK)
    tl.store(plan + i, tl.where(live, to, -1).to(tl.int32), i < n)
    conflicts = tl.sum(read.to(tl.int32), 0)
    tl.store(plan + 5 * n + 2, conflicts)
    if conflicts > 0:
        _hold(plan, 0, up, 0, frm, i, n)
        _hold(plan, 1, down, 0, frm, i, n)
        tl.store(plan + 5 * n, tl.sum(up.to(tl.int32), 0))
        tl.store(plan + 5 * n + 1, tl.sum(down.to(tl.int32), 0))


@triton.jit(do_not_specialize=["n", "slots"])
def _claim(plan, claims, targets, sources, n, slots, BLOCK: tl.constexpr, OVERLAP: tl.constexpr):
    if OVERLAP:
        gdc_launch_dependents()
    n = n.to(tl.int64)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    to, _, moves = pairs_at(targets, sources, i, n, slots)
    tl.atomic_max(claims + to, i, moves, sem="relaxed")
    if tl.program_id(0) == 0:
        tl.store(plan + 5 * n + tl.arange(0, 4), tl.zeros([4], tl.int32))


@triton.jit(do_not_specialize=["n", "slots"])
def _route(
    plan,
    claims,
    targets,
    sources,
    n,
    slots,
    CHUNK: tl.constexpr,
    BLOCK: tl.constexpr,
    OVERLAP: tl.constexpr,
):
    if OVERLAP:
        gdc_launch_dependents()
    n = n.to(tl.int64)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    to, frm, moves = pairs_at(targets, sources, i, n, slots)
    if OVERLAP:
        gdc_wait()  # for all claims
    live, read, up, down = _conflicts(claims, to, frm, moves, i, CHUNK)
    tl.store(plan + i, tl.where(live, to, -1).to(tl.int32), i < n)
    counters = plan + 5 * n
    conflicts = tl.sum(read.to(tl.int32), 0)
    if conflicts > 0:
        tl.atomic_add(counters + 2, conflicts, sem="relaxed")
        _hold(plan, 0, up, tl.atomic_add(counters, tl.sum(up.to(tl.int32), 0), sem="relaxed"), frm, i, n)
        _hold(
            plan, 1, down, tl.atomic_add(counters + 1, tl.sum(down.to(tl.int32), 0), sem="relaxed"), frm, i, n
        )
    else:  # others may have some
        tl.store(plan + n + i, 0, i < n)
        tl.store(plan + 2 * n + i, 0, i < n)
