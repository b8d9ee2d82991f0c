"""Where verify rows and accepted rows live: slots read from the request table, and the bonus token.

Integer tensors are int64. `table` is `req_to_token` in memory: one flat tensor, row `r` begins at
`r * row_width`; like the engine's kernels these functions check no bound.
"""

from __future__ import annotations

import torch
from torch import Tensor


def row_slots(table: Tensor, row_width: int, rows: Tensor, starts: Tensor, count: int) -> Tensor:
    """Slots `[bs, count]` of the positions `[start, start + count)` of each request row.

    SGLang `assign_extend_cache_locs_func`: what the rows hold now becomes `out_cache_loc`.
    """
    return table[(rows * row_width + starts)[:, None] + torch.arange(count)]


def accepted_pairs(out_cache_loc: Tensor, accept_index: Tensor, accept_lens: Tensor) -> tuple[Tensor, Tensor]:
    """Target and source slots of the accepted rows, packed over the batch, padded with (0, 0).

    The source of the k-th accepted row is the slot it was verified in, its target the k-th slot of the
    request's own verify window. SGLang 0.5.23 `move_accept_tokens_to_target_kvcache` and
    `fill_front_out_cache_loc_func`.

    Args:
        out_cache_loc: `[bs, w]`.
        accept_index: `[bs, W]` flat rows.
        accept_lens: `[bs]`.

    Returns:
        targets, sources, each `[bs * W]`.
    """
    bs, width = accept_index.shape
    targets = torch.zeros(bs * width, dtype=torch.int64)
    sources = torch.zeros(bs * width, dtype=torch.int64)
    flat, filled = out_cache_loc.flatten(), 0
    for i, n in enumerate(accept_lens.tolist()):
        targets[filled : filled + n] = out_cache_loc[i, :n]
        sources[filled : filled + n] = flat[accept_index[i, :n]]
        filled += n
    return targets, sources


def bonus_tokens(accept_tokens: Tensor, accept_lens: Tensor, stride: int) -> Tensor:
    """The last output token of each request: `accept_tokens[i * stride + n - 1]`.

    SGLang `fill_bonus_tokens_func`. `accept_tokens` is flat `[bs * stride]`, `stride` its width a request.
    """
    return accept_tokens[torch.arange(len(accept_lens)) * stride + accept_lens - 1]


def branch_stride(starts: Tensor, *, topk: int, steps: int, page_size: int) -> Tensor:
    """Positions `[bs]` between the pages of two draft branches, 0 where branches share the prefix's last page.

    With pages and several branches each branch begins in pages of its own, behind a copy of the prefix's
    last page (SGLang `assign_draft_cache_locs`).
    """
    if page_size == 1 or topk == 1:
        return torch.zeros_like(starts)
    return -(-(starts % page_size + steps) // page_size) * page_size


def branch_slots(
    table: Tensor, row_width: int, rows: Tensor, starts: Tensor, stride: Tensor, *, topk: int, steps: int
) -> Tensor:
    """Slots `[bs, topk, steps]` that the draft branches write.

    Where `stride` is 0 branches lie one after the other from `start` on, else `stride` positions apart.
    """
    apart = torch.where(stride == 0, steps, stride)[:, None, None]
    positions = starts[:, None, None] + torch.arange(topk)[:, None] * apart + torch.arange(steps)
    return table[(rows * row_width)[:, None, None] + positions]


def tail_copies(
    table: Tensor, row_width: int, row: int, length: int, stride: int, *, topk: int, page_size: int
) -> tuple[Tensor, Tensor]:
    """Target and source slots that duplicate one request's last prefix page for branches 1 .. topk - 1.

    SGLang `duplicate_prefix_tail_to_draft_branches`; one source goes to several targets.
    """
    base = row * row_width + length // page_size * page_size
    tail = torch.arange(length % page_size)
    targets = base + torch.arange(1, topk)[:, None] * stride + tail
    return table[targets.flatten()], table[(base + tail).repeat(topk - 1)]
