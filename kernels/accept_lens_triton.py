"""Accept on a chain whose accepted length is known or plain to see, in Triton. Contracts stand in `accept.py`."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from speckv_debug.kernels.accepted import Accepted, nothing_accepted

REQUESTS = 32  # a program


def accept_from_lens(candidates: Tensor, bonus: Tensor, lens: Tensor, width: int) -> Accepted:
    """See `accept.accept_from_lens`."""
    bs, rows = candidates.shape
    out = nothing_accepted(bs, rows, width, candidates.device)
    chain = (t.contiguous() for t in (candidates, bonus, lens))
    slots = triton.next_power_of_2(max(rows, width))
    if bs:
        _prefix[(triton.cdiv(bs, REQUESTS),)](
            *chain, *out, bs, ROWS=rows, WIDTH=width, SLOTS=slots, REQUESTS=REQUESTS
        )
    return out


def match_chain(
    candidates: Tensor, target_predict: Tensor, verify_lens: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """See `accept.match_chain`."""
    bs, rows = candidates.shape
    lens, bonus, trimmed = torch.empty(3, bs, dtype=torch.int64, device=candidates.device)
    chain = (t.contiguous() for t in (candidates, target_predict, verify_lens))
    slots = triton.next_power_of_2(rows)
    if bs:
        _match[(triton.cdiv(bs, REQUESTS),)](
            *chain, lens, bonus, trimmed, bs, ROWS=rows, SLOTS=slots, REQUESTS=REQUESTS
        )
    return lens, bonus, trimmed


@triton.jit
def _prefix(
    tokens,
    bonus,
    lens,
    predict,
    index,
    drafts,
    bs,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    SLOTS: tl.constexpr,
    REQUESTS: tl.constexpr,
):
    request = tl.program_id(0).to(tl.int64) * REQUESTS + tl.arange(0, REQUESTS)
    real = request < bs
    n = tl.load(lens + request, real, other=0).to(tl.int64)
    last = tl.load(bonus + request, real, other=0).to(tl.int64)[:, None]
    tl.store(drafts + request, tl.maximum(n - 1, 0), real)
    n = n[:, None]
    slot = tl.arange(0, SLOTS)[None, :]
    row = request[:, None] * ROWS + slot
    inside = real[:, None] & (slot < ROWS)
    behind = tl.load(tokens + row + 1, inside & (slot < n - 1), other=0).to(tl.int64)
    tl.store(predict + row, tl.where(slot == n - 1, last, behind), inside)
    place = request[:, None] * WIDTH + slot
    tl.store(index + place, tl.where(slot < n, row, -1), real[:, None] & (slot < WIDTH))


@triton.jit
def _match(
    tokens,
    chosen,
    verify_lens,
    lens,
    bonus,
    trimmed,
    bs,
    ROWS: tl.constexpr,
    SLOTS: tl.constexpr,
    REQUESTS: tl.constexpr,
):
    request = tl.program_id(0).to(tl.int64) * REQUESTS + tl.arange(0, REQUESTS)
    real = request < bs
    slot = tl.arange(0, SLOTS)[None, :]
    row = request[:, None] * ROWS + slot
    tested = real[:, None] & (slot < ROWS - 1)
    draft = tl.load(tokens + row + 1, tested, other=0).to(tl.int64)
    want = tl.load(chosen + row, tested, other=0).to(tl.int64)
    drafts = tl.min(tl.where(tested & (draft == want), ROWS - 1, tl.minimum(slot, ROWS - 1)), 1)
    capped = tl.minimum(drafts, tl.load(verify_lens + request, real, other=1).to(tl.int64) - 1)
    at = request * ROWS + tl.maximum(capped, 0)
    tl.store(lens + request, capped + 1, real)
    tl.store(bonus + request, tl.load(chosen + at, real, other=0).to(tl.int64), real)
    tl.store(trimmed + request, drafts - capped, real)
