"""Rejection sampling on a draft chain, in Triton: one program a request. Contracts stand in `accept.py`."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from speckv_debug.kernels.accepted import Accepted, nothing_accepted

TILE = 2048  # of the vocabulary that a program holds at a time


def verify_chain_rejection(
    candidates: Tensor,
    target_probs: Tensor,
    draft_probs: Tensor,
    coins: Tensor,
    final_coins: Tensor,
    block: bool,
    guard: bool,
) -> Accepted:
    """See `accept.verify_chain_rejection`."""
    (bs, rows), vocab = candidates.shape, target_probs.shape[-1]
    out = nothing_accepted(bs, rows, rows, candidates.device)
    law = (as_float32(t) for t in (target_probs, draft_probs, coins, final_coins))
    tile = min(triton.next_power_of_2(vocab), TILE)
    if bs:
        _chain[(bs,)](
            candidates.contiguous(),
            *law,
            *out,
            ROWS=rows,
            SLOTS=triton.next_power_of_2(rows),
            VOCAB=vocab,
            TILE=tile,
            BLOCK=block,
            GUARD=guard or block,
        )
    return out


def as_float32(probs: Tensor) -> Tensor:
    """The tensor, contiguous; TypeError unless it is float32, which the kernels round in."""
    if probs.dtype != torch.float32:
        raise TypeError(f"probabilities and coins on a GPU are float32, not {probs.dtype}")
    return probs.contiguous()


@triton.jit
def _chain(
    tokens,
    p,
    q,
    coins,
    final_coins,
    predict,
    index,
    drafts,
    ROWS: tl.constexpr,
    SLOTS: tl.constexpr,
    VOCAB: tl.constexpr,
    TILE: tl.constexpr,
    BLOCK: tl.constexpr,
    GUARD: tl.constexpr,
):
    request = tl.program_id(0).to(tl.int64)
    tokens += request * ROWS
    p += request * ROWS * VOCAB
    q += request * (ROWS - 1) * VOCAB
    coins += request * (ROWS - 1)
    scale = 1.0
    if BLOCK:
        count, scale = _longest_block(tokens, p, q, coins, ROWS, VOCAB, TILE)
    else:
        count = _tokens_in_turn(tokens, p, q, coins, ROWS, VOCAB, GUARD)
    coin = tl.load(final_coins + request)
    scale = tl.where(count < ROWS - 1, scale, 1.0)
    proposed = tl.where(count < ROWS - 1, VOCAB, 0)  # entries of q that take part: none behind a full accept
    last = _draw(p + count * VOCAB, q + count * VOCAB, scale, proposed, coin, VOCAB, TILE, GUARD)
    slot = tl.arange(0, SLOTS)
    row = request * ROWS + slot
    behind = tl.load(tokens + slot + 1, slot < count, other=0).to(tl.int64)
    tl.store(predict + row, tl.where(slot == count, last, behind), slot < ROWS)
    tl.store(index + row, tl.where(slot <= count, row, -1), slot < ROWS)
    tl.store(drafts + request, count)


@triton.jit
def _tokens_in_turn(
    tokens,
    p,
    q,
    coins,
    ROWS: tl.constexpr,
    VOCAB: tl.constexpr,
    GUARD: tl.constexpr,
):
    """Drafts before the first that fails its own test."""
    count = tl.full((), 0, tl.int32)
    step = 0
    while (step < ROWS - 1) & (count == step):
        token = tl.load(tokens + step + 1).to(tl.int64)
        p_own = tl.load(p + step * VOCAB + token)
        q_own = tl.load(q + step * VOCAB + token)
        passed = tl.load(coins + step) * q_own < p_own
        if GUARD:
            passed = passed & (q_own > 0) & (q_own <= 1)
        count += passed.to(tl.int32)
        step += 1
    return count


@triton.jit
def _longest_block(
    tokens,
    p,
    q,
    coins,
    ROWS: tl.constexpr,
    VOCAB: tl.constexpr,
    TILE: tl.constexpr,
):
    """Drafts of the longest prefix that passes as a whole, and the weight of p behind it."""
    weight = 1.0
    scale = 1.0
    count = tl.full((), 0, tl.int32)
    for step in range(ROWS - 1):
        token = tl.load(tokens + step + 1).to(tl.int64)
        p_own = tl.load(p + step * VOCAB + token)
        q_own = tl.load(q + step * VOCAB + token)
        ratio = tl.minimum(tl.div_rn(weight * p_own, q_own), 1.0)
        weight = tl.where((q_own > 0) & (q_own <= 1), ratio, 0.0)
        coin = tl.load(coins + step)
        chance = weight
        if (step < ROWS - 2) & (coin < weight) & (weight < 1):
            left = _mass(p + (step + 1) * VOCAB, q + (step + 1) * VOCAB, weight, VOCAB, TILE)
            chance = tl.div_rn(left, left + 1.0 - weight)
        passed = (coin < weight) & (coin < chance)
        count = tl.where(passed, step + 1, count)
        scale = tl.where(passed, weight, scale)
    return count, scale


@triton.jit
def _mass(p, q, weight, VOCAB: tl.constexpr, TILE: tl.constexpr):
    """Sum of `max(weight p - q, 0)`."""
    mass = 0.0
    for start in range(0, VOCAB, TILE):
        vocab = start + tl.arange(0, TILE)
        p_all = tl.load(p + vocab, vocab < VOCAB, other=0.0)
        q_all = tl.load(q + vocab, vocab < VOCAB, other=0.0)
        mass += tl.sum(tl.maximum(weight * p_all - q_all, 0.0), 0)
    return mass


@triton.jit
def _draw(
    p,
    q,
    scale,
    proposed,
    coin,
    VOCAB: tl.constexpr,
    TILE: tl.constexpr,
    GUARD: tl.constexpr,
):
    """The token behind the accepted drafts, by inverting the cumulative sum of its weights at the coin."""
    total = 0.0
    for start in range(0, VOCAB, TILE):
        total += tl.sum(_rest(p, q, scale, proposed, start, VOCAB, TILE, GUARD), 0)
    goal = coin * total
    seen = 0.0
    drawn = VOCAB - 1
    for start in range(0, VOCAB, TILE):
        rest = _rest(p, q, scale, proposed, start, VOCAB, TILE, GUARD)
        above = seen + tl.cumsum(rest, 0) > goal
        drawn = tl.minimum(drawn, tl.min(tl.where(above, start + tl.arange(0, TILE), VOCAB), 0))
        seen += tl.sum(rest, 0)
    return drawn


@triton.jit
def _rest(
    p,
    q,
    scale,
    proposed,
    start,
    VOCAB: tl.constexpr,
    TILE: tl.constexpr,
    GUARD: tl.constexpr,
):
    """A tile of the weights `max(scale p - q, 0)`."""
    vocab = start + tl.arange(0, TILE)
    p_all = tl.load(p + vocab, vocab < VOCAB, other=0.0)
    q_all = tl.load(q + vocab, vocab < proposed, other=0.0)
    if GUARD:
        q_all = tl.where((q_all >= 0) & (q_all <= 1), q_all, 0.0)
    return tl.maximum(scale * p_all - q_all, 0.0)
