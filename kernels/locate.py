"""Where verify rows and accepted rows live: slots read from the request table, and the bonus token.

Integer inputs are int32 or int64, results int64 unless said otherwise, all on one device; on a GPU nothing is
synchronised. `table` is `req_to_token` in memory: one flat tensor, row `r` begins at
`r * row_width`; like the engine's kernels these functions check no bound.
"""

from __future__ import annotations

import torch
from torch import Tensor

from speckv_debug.kernels import locate_torch


def row_slots(table: Tensor, row_width: int, rows: Tensor, starts: Tensor, count: int) -> Tensor:
    """Slots `[bs, count]` of the positions `[start, start + count)` of each request row.

    What the rows hold now becomes `out_cache_loc`: SGLang `assign_extend_cache_locs_uniform_func` (0.5.17 to 0.5.23,
    without translation), `assign_extend_cache_locs_func` (0.5.12 to 0.5.23) with `end = start + count`.

    Args:
        table: Flat request table.
        row_width: Its entries a row.
        rows: `[bs]`.
        starts: `[bs]` first position of each.
        count: Positions of each.
    """
    if table.is_cuda:
        from speckv_debug.kernels import locate_triton

        return locate_triton.row_slots(table, row_width, rows, starts, count)
    return locate_torch.row_slots(table, row_width, rows, starts, count)


def row_slots_ragged(
    table: Tensor, row_width: int, rows: Tensor, starts: Tensor, ends: Tensor, size: int
) -> Tensor:
    """Slots of the positions `[start, end)` of each request row, packed over the batch, then 0.

    SGLang `assign_extend_cache_locs` (0.5.12 to 0.5.23), which leaves there what the buffer held. With
    `ends = seq_lens + accept_lens` these are the targets of an accept in 0.5.13 to 0.5.22.

    Args:
        table, row_width, rows, starts: As in `row_slots`.
        ends: `[bs]`; an end before its start is an empty span.
        size: Length of the result; what does not fit is dropped.
    """
    spans = (table, row_width, rows, starts, ends, size)
    if table.is_cuda:
        from speckv_debug.kernels import locate_triton

        return locate_triton.row_slots_ragged(*spans)
    return locate_torch.row_slots_ragged(*spans)


def front_slots(out_cache_loc: Tensor, lens: Tensor, size: int) -> Tensor:
    """The first `lens[i]` slots of each request's own verify window, packed over the batch, then 0.

    The targets of an accept in SGLang 0.5.23 (`fill_front_out_cache_loc_func`).

    Args:
        out_cache_loc: `[bs, w]`.
        lens: `[bs]` in `[0, w]`.
        size: Length of the result; what does not fit is dropped.
    """
    if out_cache_loc.is_cuda:
        from speckv_debug.kernels import locate_triton

        return locate_triton.front_slots(out_cache_loc, lens, size)
    return locate_torch.front_slots(out_cache_loc, lens, size)


def accepted_sources(out_cache_loc: Tensor, accept_index: Tensor) -> Tensor:
    """Slots `[bs * W]` in which the accepted rows were verified, packed over the batch, then 0.

    SGLang `fill_accept_out_cache_loc_func` (0.5.15 and before: the kernel `fill_accept_out_cache_loc`), into zeros.

    Args:
        out_cache_loc: Slots of all verify rows, `[bs, w]` or flat.
        accept_index: `[bs, W]` flat rows, -1 none.
    """
    if out_cache_loc.is_cuda:
        from speckv_debug.kernels import locate_triton

        return locate_triton.accepted_sources(out_cache_loc, accept_index)
    return locate_torch.accepted_sources(out_cache_loc, accept_index)


def accepted_pairs(out_cache_loc: Tensor, accept_index: Tensor, accept_lens: Tensor) -> tuple[Tensor, Tensor]:
    """Target and source slots of the accepted rows, packed over the batch, padded with (0, 0).

    The source of the k-th accepted row is the slot it was verified in, its target the k-th slot of the
    request's own verify window. SGLang 0.5.23 `move_accept_tokens_to_target_kvcache`, with the lengths alone
    saying how far a path goes.

    Args:
        out_cache_loc: `[bs, w]`.
        accept_index: `[bs, W]` flat rows, the first accept_lens of each request valid; a negative one counts from the end.
        accept_lens: `[bs]` in `[0, W]`.

    Returns:
        targets, sources, each `[bs * W]`.
    """
    if out_cache_loc.is_cuda:
        from speckv_debug.kernels import locate_triton

        return locate_triton.accepted_pairs(out_cache_loc, accept_index, accept_lens)
    return locate_torch.accepted_pairs(out_cache_loc, accept_index, accept_lens)


def bonus_tokens(accept_tokens: Tensor, accept_lens: Tensor, stride: int) -> Tensor:
    """The last output token of each request: `accept_tokens[i * stride + n - 1]`.

    SGLang `fill_bonus_tokens_func` (0.5.15 and before: the kernel `fill_bonus_tokens`).

    Args:
        accept_tokens: Flat `[bs * stride]`, any integers; the result has their dtype.
        accept_lens: `[bs]`, at least 1.
        stride: Its width a request: W of accept_index, or w where tokens were brought to the front.
    """
    if accept_tokens.is_cuda:
        from speckv_debug.kernels import locate_triton

        return locate_triton.bonus_tokens(accept_tokens, accept_lens, stride)
    return locate_torch.bonus_tokens(accept_tokens, accept_lens, stride)


def new_lengths(seq_lens: Tensor, accept_lens: Tensor) -> Tensor:
    """Lengths `[bs]` after a verify: what was there and all accepted rows, the bonus token's own KV not among them.

    SGLang `batch.seq_lens + accept_lens` (EAGLE, NGRAM, DFlash, DSpark; all versions).
    """
    if seq_lens.is_cuda:
        from speckv_debug.kernels import locate_triton

        return locate_triton.new_lengths(seq_lens, accept_lens)
    return locate_torch.new_lengths(seq_lens, accept_lens)


def commit_outputs(
    predict: Tensor, accept_index: Tensor, accept_lens: Tensor, seq_lens: Tensor
) -> tuple[Tensor, Tensor]:
    """New lengths `[bs]` and bonus tokens `[bs]` of a verify, the bonus read from the path's last row.

    SGLang `prepare_verify_commit_outputs` (CUDA, 0.5.22 to 0.5.23); its bonus is int32.

    Args:
        predict: `[bs * w]`.
        accept_index: `[bs, W]` flat rows; a negative one counts from the end.
        accept_lens: `[bs]` in `[1, W]`.
        seq_lens: `[bs]`.
    """
    if predict.is_cuda:
        from speckv_debug.kernels import locate_triton

        return locate_triton.commit_outputs(predict, accept_index, accept_lens, seq_lens)
    return locate_torch.commit_outputs(predict, accept_index, accept_lens, seq_lens)


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
