"""State beside the KV: compressor rings of rejected drafts, and which step's recurrent state to keep."""

from __future__ import annotations

import torch
from torch import Tensor


def clear_unaccepted_rows(
    state: Tensor,
    request_rows: Tensor,
    seq_lens: Tensor,
    accept_lens: Tensor,
    *,
    ring_size: int,
    num_draft_tokens: int,
) -> None:
    """Empty the ring rows that rejected drafts wrote, in place: first half 0, second half -inf.

    A request's positions `[seq_len + accept_len, seq_len + num_draft_tokens)` live in rows
    `row * ring_size + position % ring_size`. SGLang `clear_unaccepted_c128_draft_states` (0.5.15 to 0.5.23, once a C128
    layer; not with `num_draft_tokens <= 1`, not for the online variant, on the NPU not before 0.5.18).

    Args:
        state: `[rows, 2 * half]` floating, contiguous: kv, then score.
        request_rows: `[bs]` int32 or int64.
        seq_lens: `[bs]` length before the verify.
        accept_lens: `[bs]`.
        ring_size: Ring rows a request.
        num_draft_tokens: `w`, verify rows a request.
    """
    batch = (request_rows, seq_lens, accept_lens)
    if state.is_cuda:
        from speckv_debug.kernels import state_triton

        state_triton.clear_unaccepted_rows(state, *batch, ring_size, num_draft_tokens)
        return
    offset = torch.arange(num_draft_tokens)
    ring = request_rows.long()[:, None] * ring_size + (seq_lens.long()[:, None] + offset) % ring_size
    cleared = ring[offset >= accept_lens[:, None]]
    half = state.shape[-1] // 2
    state[cleared, :half] = 0
    state[cleared, half:] = float("-inf")


def commit_steps(accept_index: Tensor, accept_lens: Tensor, num_draft_tokens: int) -> Tensor:
    """The verify step `[bs]` whose recurrent state a request keeps: its last accepted row, local to the request.

    `accept_len - 1` on a chain. SGLang `commit_mamba_states_after_verify` (0.5.14 to 0.5.20),
    `_verify_commit_step_indices` and `fused_commit_track_indices` (0.5.23).

    Args:
        accept_index: `[bs, W]` flat rows, int32 or int64.
        accept_lens: `[bs]` in `[1, W]`.
        num_draft_tokens: `w`, verify rows a request.
    """
    if accept_index.is_cuda:
        from speckv_debug.kernels import state_triton

        return state_triton.kept_steps(accept_index, accept_lens, None, num_draft_tokens, 1)
    return _step(accept_index, accept_lens.long() - 1, num_draft_tokens)


def track_steps(
    accept_index: Tensor, accept_lens: Tensor, seq_lens: Tensor, num_draft_tokens: int, interval: int
) -> Tensor:
    """The verify step `[bs]` whose state stands at the tracking position that the accept crossed, -1 where it crossed none.

    Tracking positions are the multiples of `interval`; the last one that is crossed counts. SGLang as `commit_steps`.

    Args:
        accept_index, accept_lens, num_draft_tokens: As in `commit_steps`.
        seq_lens: `[bs]` length before the verify.
        interval: Positions between two states kept for the prefix cache.
    """
    if accept_index.is_cuda:
        from speckv_debug.kernels import state_triton

        return state_triton.kept_steps(accept_index, accept_lens, seq_lens, num_draft_tokens, interval)
    before, after = seq_lens.long(), seq_lens.long() + accept_lens
    place = (after // interval * interval - before - 1).clamp(min=0)
    crossed = before // interval != after // interval
    return torch.where(crossed, _step(accept_index, place, num_draft_tokens), -1)


def _step(accept_index: Tensor, place: Tensor, num_draft_tokens: int) -> Tensor:
    row = accept_index.long().gather(1, place[:, None])[:, 0]
    return row - torch.arange(len(row)) * num_draft_tokens
