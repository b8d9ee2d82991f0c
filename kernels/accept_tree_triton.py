"""Accept on a draft tree, in Triton. Contracts stand in `accept.py`."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from speckv_debug.kernels.accept_chain_triton import TILE, as_float32
from speckv_debug.kernels.accepted import Accepted, nothing_accepted

REQUESTS = 128  # that one program of the greedy walk leads down their trees together


def verify_tree_greedy(
    candidates: Tensor, next_token: Tensor, next_sibling: Tensor, target_predict: Tensor, width: int
) -> Accepted:
    """See `accept.verify_tree_greedy`."""
    bs, rows = candidates.shape
    out = nothing_accepted(bs, rows, width, candidates.device)
    tree = (t.contiguous() for t in (candidates, next_token, next_sibling, target_predict))
    if bs:
        _greedy[(triton.cdiv(bs, REQUESTS),)](*tree, *out, bs, ROWS=rows, WIDTH=width, REQUESTS=REQUESTS)
    return out


def verify_tree_target_only(
    candidates: Tensor,
    next_token: Tensor,
    next_sibling: Tensor,
    target_probs: Tensor,
    coins: Tensor,
    final_coins: Tensor,
    width: int,
    threshold_single: float,
    threshold_acc: float,
) -> Accepted:
    """See `accept.verify_tree_target_only`."""
    (bs, rows), vocab = candidates.shape, target_probs.shape[-1]
    out = nothing_accepted(bs, rows, width, candidates.device)
    tree = (t.contiguous() for t in (candidates, next_token, next_sibling))
    law = (as_float32(t) for t in (target_probs, coins, final_coins))
    thresholds = (float(threshold_single), max(float(threshold_acc), 1e-9))
    tile = min(triton.next_power_of_2(vocab), TILE)
    if bs:
        _target_only[(bs,)](*tree, *law, *out, *thresholds, ROWS=rows, WIDTH=width, VOCAB=vocab, TILE=tile)
    return out


@triton.jit
def _greedy(
    tokens,
    child,
    sibling,
    chosen,
    predict,
    index,
    drafts,
    bs,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    REQUESTS: tl.constexpr,
):
    request = tl.program_id(0).to(tl.int64) * REQUESTS + tl.arange(0, REQUESTS)
    real = request < bs
    base = request * ROWS
    row = base  # last accepted
    count = tl.full((REQUESTS,), 1, tl.int64)
    tl.store(index + request * WIDTH, row, real)
    want = tl.load(chosen + row, real, other=0).to(tl.int64)
    node = tl.load(child + row, real, other=-1).to(tl.int64)
    live = real & (node >= 0) & (node < ROWS) & (count < WIDTH)
    visits = tl.full((REQUESTS,), 0, tl.int32)
    while tl.max(live.to(tl.int32), 0) > 0:
        at = base + node
        hit = live & (tl.load(tokens + at, live, other=0).to(tl.int64) == want)
        tl.store(predict + row, want, hit)
        tl.store(index + request * WIDTH + count, at, hit)
        count += hit.to(tl.int64)
        row = tl.where(hit, at, row)
        want = tl.where(hit, tl.load(chosen + at, hit, other=0).to(tl.int64), want)
        down = tl.load(child + at, hit, other=-1).to(tl.int64)
        beside = tl.load(sibling + at, live & (~hit), other=-1).to(tl.int64)
        node = tl.where(hit, down, beside)
        visits += 1
        live = live & (node >= 0) & (node < ROWS) & (count < WIDTH) & (visits < WIDTH * ROWS)
    tl.store(predict + row, want, real)
    tl.store(drafts + request, count - 1, real)


@triton.jit
def _target_only(
    tokens,
    child,
    sibling,
    probs,
    coins,
    final_coins,
    predict,
    index,
    drafts,
    threshold_single,
    threshold_acc,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    VOCAB: tl.constexpr,
    TILE: tl.constexpr,
):
    request = tl.program_id(0).to(tl.int64)
    base = request * ROWS
    index += request * WIDTH
    row = base  # last accepted
    tl.store(index, row)
    coin = tl.load(coins + row)
    node = tl.load(child + row).to(tl.int64)
    passed = 0.0  # target mass of the children visited
    count = tl.full((), 1, tl.int32)
    visits = 0
    while (node >= 0) & (node < ROWS) & (count < WIDTH) & (visits < WIDTH * ROWS):
        at = base + node
        token = tl.load(tokens + at).to(tl.int64)
        own = tl.load(probs + row * VOCAB + token)
        passed += own
        hit = (own > 0) & ((coin < tl.div_rn(passed, threshold_acc)) | (own >= threshold_single))
        tl.store(predict + row, token, hit)
        tl.store(index + count, at, hit)
        down = tl.load(child + at).to(tl.int64)
        beside = tl.load(sibling + at).to(tl.int64)
        node = tl.where(hit, down, beside)
        coin = tl.where(hit, tl.load(coins + at), coin)
        passed = tl.where(hit, 0.0, passed)
        row = tl.where(hit, at, row)
        count += hit.to(tl.int32)
        visits += 1
    tl.store(drafts + request, count - 1)
    first = tl.where(count < WIDTH, tl.load(child + row).to(tl.int64), -1)
    total = 0.0
    for start in range(0, VOCAB, TILE):
        total += tl.sum(
            _without(probs + row * VOCAB, tokens + base, sibling + base, first, start, ROWS, VOCAB, TILE), 0
        )
    goal = tl.load(final_coins + request) * total
    seen = 0.0
    drawn = VOCAB - 1
    for start in range(0, VOCAB, TILE):
        rest = _without(probs + row * VOCAB, tokens + base, sibling + base, first, start, ROWS, VOCAB, TILE)
        above = seen + tl.cumsum(rest, 0) > goal
        drawn = tl.minimum(drawn, tl.min(tl.where(above, start + tl.arange(0, TILE), VOCAB), 0))
        seen += tl.sum(rest, 0)
    tl.store(predict + row, drawn)


@triton.jit
def _without(
    probs,
    tokens,
    sibling,
    node,
    start,
    ROWS: tl.constexpr,
    VOCAB: tl.constexpr,
    TILE: tl.constexpr,
):
    """A tile of a row's distribution, less the tokens of the sibling list that begins with `node`."""
    vocab = start + tl.arange(0, TILE)
    rest = tl.load(probs + vocab, vocab < VOCAB, other=0.0)
    visits = 0
    while (node >= 0) & (node < ROWS) & (visits < ROWS):
        rest = tl.where(vocab == tl.load(tokens + node), 0.0, rest)
        node = tl.load(sibling + node).to(tl.int64)
        visits += 1
    return rest
