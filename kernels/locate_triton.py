"""Slots and bonus tokens in Triton, one launch each. Contracts stand in `locate.py`."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 256
SPAN = 64  # positions of one request that its program copies at once
REQUESTS = 1024  # whose lengths a program adds up at once


def row_slots(table: Tensor, row_width: int, rows: Tensor, starts: Tensor, count: int) -> Tensor:
    """See `locate.row_slots`."""
    out = torch.empty(len(rows), count, dtype=torch.int64, device=table.device)
    if out.numel():
        grid = (triton.cdiv(out.numel(), BLOCK),)
        _row_slots[grid](table, row_width, rows, starts, out, out.numel(), count, BLOCK=BLOCK)
    return out


def row_slots_ragged(
    table: Tensor, row_width: int, rows: Tensor, starts: Tensor, ends: Tensor, size: int
) -> Tensor:
    """See `locate.row_slots_ragged`."""
    return _spans(table, row_width, rows, starts, ends, size, whole_rows=False)


def front_slots(out_cache_loc: Tensor, lens: Tensor, size: int) -> Tensor:
    """See `locate.front_slots`."""
    window = out_cache_loc.contiguous()
    return _spans(window, out_cache_loc.shape[1], lens, lens, lens, size, whole_rows=True)


def _spans(
    table: Tensor, row_width: int, rows: Tensor, starts: Tensor, ends: Tensor, size: int, *, whole_rows: bool
) -> Tensor:
    bs = len(ends)
    if not bs:
        return torch.zeros(size, dtype=torch.int64, device=table.device)
    out = torch.empty(size, dtype=torch.int64, device=table.device)
    requests = min(REQUESTS, max(16, triton.next_power_of_2(bs)))
    _spans_kernel[(bs,)](
        table, row_width, rows, starts, ends, out, bs, size, FRONT=whole_rows, SPAN=SPAN, REQUESTS=requests
    )
    return out


def accepted_sources(out_cache_loc: Tensor, accept_index: Tensor) -> Tensor:
    """See `locate.accepted_sources`."""
    return _pack(out_cache_loc, accept_index, None)


def accepted_pairs(out_cache_loc: Tensor, accept_index: Tensor, accept_lens: Tensor) -> tuple[Tensor, Tensor]:
    """See `locate.accepted_pairs`."""
    targets = front_slots(out_cache_loc, accept_lens, accept_index.numel())
    return targets, _pack(out_cache_loc, accept_index, accept_lens)


def _pack(slots: Tensor, index: Tensor, lens: Tensor | None) -> Tensor:
    n = index.numel()
    slots, index = slots.contiguous(), index.contiguous()
    out = torch.empty(n, dtype=torch.int64, device=slots.device)
    if n:
        by = index if lens is None else lens
        width, by_lens = index.shape[-1], lens is not None
        _pack_kernel[(triton.cdiv(n, BLOCK),)](
            slots, index, by, out, n, width, slots.numel(), BY_LENS=by_lens, BLOCK=BLOCK
        )
    return out


def bonus_tokens(accept_tokens: Tensor, accept_lens: Tensor, stride: int) -> Tensor:
    """See `locate.bonus_tokens`."""
    bs = len(accept_lens)
    out = torch.empty(bs, dtype=accept_tokens.dtype, device=accept_tokens.device)
    if bs:
        _bonus[(triton.cdiv(bs, BLOCK),)](
            accept_tokens.contiguous(), accept_lens, out, bs, stride, BLOCK=BLOCK
        )
    return out


def new_lengths(seq_lens: Tensor, accept_lens: Tensor) -> Tensor:
    """See `locate.new_lengths`."""
    bs = len(seq_lens)
    out = torch.empty(bs, dtype=torch.int64, device=seq_lens.device)
    if bs:
        _add[(triton.cdiv(bs, BLOCK),)](seq_lens, accept_lens, out, bs, BLOCK=BLOCK)
    return out


def commit_outputs(
    predict: Tensor, accept_index: Tensor, accept_lens: Tensor, seq_lens: Tensor
) -> tuple[Tensor, Tensor]:
    """See `locate.commit_outputs`."""
    bs, width = accept_index.shape
    lens, bonus = torch.empty(2, bs, dtype=torch.int64, device=predict.device)
    index = accept_index.contiguous()
    if bs:
        _commit[(triton.cdiv(bs, BLOCK),)](
            predict, index, accept_lens, seq_lens, lens, bonus, bs, width, predict.numel(), BLOCK=BLOCK
        )
    return lens, bonus


@triton.jit(do_not_specialize=["row_width", "n", "count"])
def _row_slots(table, row_width, rows, starts, out, n, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    real = at < n
    i = at // count
    first = tl.load(rows + i, real, other=0).to(tl.int64) * row_width + tl.load(starts + i, real, other=0)
    tl.store(out + at, tl.load(table + first + at % count, real, other=0).to(tl.int64), real)


@triton.jit
def _span(starts, ends, i, real, FRONT: tl.constexpr):
    """First position and length of the spans of the requests `i`."""
    end = tl.load(ends + i, real, other=0).to(tl.int64)
    start = tl.zeros_like(end)
    if not FRONT:
        start = tl.load(starts + i, real, other=0).to(tl.int64)
    return start, tl.maximum(end - start, 0)


@triton.jit(do_not_specialize=["row_width", "bs", "size"])
def _spans_kernel(
    table,
    row_width,
    rows,
    starts,
    ends,
    out,
    bs,
    size,
    FRONT: tl.constexpr,
    SPAN: tl.constexpr,
    REQUESTS: tl.constexpr,
):
    i = tl.program_id(0)
    filled = tl.full([], 0, tl.int64)
    for first in range(0, i, REQUESTS):
        j = first + tl.arange(0, REQUESTS)
        _, lens = _span(starts, ends, j, j < i, FRONT)
        filled += tl.sum(lens, 0)
    start, length = _span(starts, ends, i, i < bs, FRONT)
    row = i.to(tl.int64)
    if not FRONT:
        row = tl.load(rows + i).to(tl.int64)
    for first in range(0, length, SPAN):
        k = first + tl.arange(0, SPAN)
        real = (k < length) & (filled + k < size)
        slot = tl.load(table + row * row_width + start + k, real, other=0)
        tl.store(out + filled + k, slot.to(tl.int64), real)
    if i == bs - 1:
        for first in range(filled + length, size, SPAN):
            k = first + tl.arange(0, SPAN)
            tl.store(out + k, tl.zeros([SPAN], tl.int64), k < size)


@triton.jit
def _valid(index, by, i, n, width, BY_LENS: tl.constexpr):
    """Rows of the entries `i` of the index, and which of them are rows at all."""
    row = tl.load(index + i, i < n, other=-1).to(tl.int64)
    if BY_LENS:
        valid = (i < n) & (i % width < tl.load(by + i // width, i < n, other=0))
    else:
        valid = (i < n) & (row != -1)
    return row, valid


@triton.jit(do_not_specialize=["n", "width", "slots_size"])
def _pack_kernel(slots, index, by, out, n, width, slots_size, BY_LENS: tl.constexpr, BLOCK: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * BLOCK
    before = tl.full([], 0, tl.int64)
    for first in range(0, begin, BLOCK):
        _, counted = _valid(index, by, first + tl.arange(0, BLOCK), n, width, BY_LENS)
        before += tl.sum(counted.to(tl.int64), 0)
    i = begin + tl.arange(0, BLOCK)
    row, valid = _valid(index, by, i, n, width, BY_LENS)
    place = before + tl.cumsum(valid.to(tl.int64), 0)  # of the entry itself, counted from 1
    slot = tl.load(slots + tl.where(row < 0, row + slots_size, row), valid, other=0).to(tl.int64)
    tl.store(out + place - 1, slot, valid)
    tl.store(out + n - 1 - (i - place), tl.zeros([BLOCK], tl.int64), (i < n) & (valid == 0))


@triton.jit(do_not_specialize=["bs", "stride"])
def _bonus(tokens, lens, out, bs, stride, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    last = i * stride + tl.load(lens + i, i < bs, other=1) - 1
    tl.store(out + i, tl.load(tokens + last, i < bs, other=0), i < bs)


@triton.jit(do_not_specialize=["bs"])
def _add(left, right, out, bs, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(left + i, i < bs, other=0).to(tl.int64) + tl.load(right + i, i < bs, other=0)
    tl.store(out + i, total, i < bs)


@triton.jit(do_not_specialize=["bs", "width", "size"])
def _commit(predict, index, accept_lens, seq_lens, lens, bonus, bs, width, size, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    real = i < bs
    n = tl.load(accept_lens + i, real, other=1).to(tl.int64)
    tl.store(lens + i, tl.load(seq_lens + i, real, other=0).to(tl.int64) + n, real)
    row = tl.load(index + i * width + n - 1, real, other=0).to(tl.int64)
    token = tl.load(predict + tl.where(row < 0, row + size, row), real, other=0).to(tl.int64)
    tl.store(bonus + i, token, real)
