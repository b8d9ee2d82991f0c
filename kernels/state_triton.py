"""Cleared ring rows and kept steps in Triton, one launch each. Contracts stand in `state.py`."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024
REQUESTS = 256


def clear_unaccepted_rows(
    state: Tensor,
    request_rows: Tensor,
    seq_lens: Tensor,
    accept_lens: Tensor,
    ring_size: int,
    num_draft_tokens: int,
) -> None:
    """See `state.clear_unaccepted_rows`."""
    bs, half = len(request_rows), state.shape[-1] // 2
    if bs and num_draft_tokens and half:
        block = min(BLOCK, triton.next_power_of_2(half))
        _clear[(bs, num_draft_tokens)](
            state, request_rows, seq_lens, accept_lens, ring_size, half, BLOCK=block
        )


def kept_steps(
    accept_index: Tensor, accept_lens: Tensor, seq_lens: Tensor | None, num_draft_tokens: int, interval: int
) -> Tensor:
    """See `state.commit_steps` and, with lengths, `state.track_steps`."""
    bs, width = accept_index.shape
    out = torch.empty(bs, dtype=torch.int64, device=accept_index.device)
    if bs:
        track = seq_lens is not None
        before = accept_lens if seq_lens is None else seq_lens
        _steps[(triton.cdiv(bs, REQUESTS),)](
            accept_index.contiguous(),
            accept_lens,
            before,
            out,
            bs,
            width,
            num_draft_tokens,
            interval,
            TRACK=track,
            REQUESTS=REQUESTS,
        )
    return out


@triton.jit(do_not_specialize=["ring_size", "half"])
def _clear(state, request_rows, seq_lens, accept_lens, ring_size, half, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    offset = tl.program_id(1)
    if offset >= tl.load(accept_lens + i):
        slot = (tl.load(seq_lens + i).to(tl.int64) + offset) % ring_size
        row = state + (tl.load(request_rows + i).to(tl.int64) * ring_size + slot) * half * 2
        for first in range(0, half, BLOCK):
            e = first + tl.arange(0, BLOCK)
            tl.store(row + e, 0.0, e < half)
            tl.store(row + half + e, float("-inf"), e < half)


@triton.jit(do_not_specialize=["bs", "width", "rows", "interval"])
def _steps(
    index,
    accept_lens,
    seq_lens,
    out,
    bs,
    width,
    rows,
    interval,
    TRACK: tl.constexpr,
    REQUESTS: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * REQUESTS + tl.arange(0, REQUESTS)
    real = i < bs
    n = tl.load(accept_lens + i, real, other=1).to(tl.int64)
    place = n - 1
    crossed = real
    if TRACK:
        before = tl.load(seq_lens + i, real, other=0).to(tl.int64)
        after = before + n
        place = tl.maximum(after // interval * interval - before - 1, 0)
        crossed = before // interval != after // interval
    step = tl.load(index + i * width + place, real & crossed, other=0).to(tl.int64) - i * rows
    tl.store(out + i, tl.where(crossed, step, -1), real)
