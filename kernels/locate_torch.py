"""Slots and bonus tokens in plain torch, the reference. Contracts stand in `locate.py`."""

from __future__ import annotations

import torch
from torch import Tensor


def row_slots(table: Tensor, row_width: int, rows: Tensor, starts: Tensor, count: int) -> Tensor:
    """See `locate.row_slots`."""
    return table[(rows.long() * row_width + starts)[:, None] + torch.arange(count)].long()


def row_slots_ragged(
    table: Tensor, row_width: int, rows: Tensor, starts: Tensor, ends: Tensor, size: int
) -> Tensor:
    """See `locate.row_slots_ragged`."""
    lens = (ends - starts).clamp(min=0).long()
    first = rows.long() * row_width + starts
    request = torch.arange(len(lens)).repeat_interleave(lens)
    within = torch.arange(len(request)) - (lens.cumsum(0) - lens)[request]
    return _padded(table[first[request] + within], size)


def front_slots(out_cache_loc: Tensor, lens: Tensor, size: int) -> Tensor:
    """See `locate.front_slots`."""
    bs, width = out_cache_loc.shape
    return row_slots_ragged(
        out_cache_loc.flatten(), width, torch.arange(bs), torch.zeros_like(lens), lens, size
    )


def accepted_sources(out_cache_loc: Tensor, accept_index: Tensor) -> Tensor:
    """See `locate.accepted_sources`."""
    rows = accept_index[accept_index != -1].long()
    return _padded(out_cache_loc.flatten()[rows], accept_index.numel())


def accepted_pairs(out_cache_loc: Tensor, accept_index: Tensor, accept_lens: Tensor) -> tuple[Tensor, Tensor]:
    """See `locate.accepted_pairs`."""
    size, width = accept_index.numel(), accept_index.shape[1]
    rows = accept_index[torch.arange(width) < accept_lens[:, None]].long()
    return front_slots(out_cache_loc, accept_lens, size), _padded(out_cache_loc.flatten()[rows], size)


def bonus_tokens(accept_tokens: Tensor, accept_lens: Tensor, stride: int) -> Tensor:
    """See `locate.bonus_tokens`."""
    return accept_tokens[torch.arange(len(accept_lens)) * stride + accept_lens - 1]


def new_lengths(seq_lens: Tensor, accept_lens: Tensor) -> Tensor:
    """See `locate.new_lengths`."""
    return seq_lens.long() + accept_lens


def commit_outputs(
    predict: Tensor, accept_index: Tensor, accept_lens: Tensor, seq_lens: Tensor
) -> tuple[Tensor, Tensor]:
    """See `locate.commit_outputs`."""
    last = accept_index.long().gather(1, accept_lens.long()[:, None] - 1)[:, 0]
    return new_lengths(seq_lens, accept_lens), predict[last].long()


def _padded(slots: Tensor, size: int) -> Tensor:
    out = torch.zeros(size, dtype=torch.int64)
    out[: len(slots)] = slots[:size]
    return out
