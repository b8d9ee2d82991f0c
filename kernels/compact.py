"""Accepted rows of a flat verify tensor brought to the front of each request's block."""

from __future__ import annotations

from torch import Tensor


def compact_accepted(x: Tensor, accept_index: Tensor, width: int) -> Tensor:
    """Return `x` with rows `accept_index[i]` at the front of block `i`.

    Only the first accept_len rows of a block mean anything afterwards: padding (-1) gathers row 0 of the
    whole batch, rows behind `W` keep their tree data. SGLang `_compact_accept_to_front` (0.5.13 to 0.5.15
    `EAGLEWorkerV2._compact_accept_to_front`), called on predict `[bs * w]` and on hidden states `[bs * w, hidden]`.

    Args:
        x: `[bs * width, ...]` of any dtype; it stays as it is.
        accept_index: `[bs, W]` flat rows, int32 or int64, -1 padding, `W <= width`.
        width: `w`, verify rows a request.

    Returns:
        A new tensor like `x`, bit for bit.
    """
    if x.is_cuda:
        from speckv_debug.kernels import compact_triton

        return compact_triton.compact_accepted(x, accept_index, width)
    bs, kept = accept_index.shape
    blocks = x.clone().view(bs, width, *x.shape[1:])
    blocks[:, :kept] = x[accept_index.long().clamp(min=0)]
    return blocks.flatten(0, 1)
