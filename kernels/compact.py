"""Accepted rows of a flat verify tensor brought to the front of each request's block."""

from __future__ import annotations

from torch import Tensor


def compact_accepted(x: Tensor, accept_index: Tensor, width: int) -> Tensor:
    """Return `x` with rows `accept_index[i]` at the front of block `i`.

    Only the first accept_len rows of a block mean anything afterwards: padding (-1) gathers row 0 of the
    whole batch, rows behind `W` keep their tree data. SGLang `_compact_accept_to_front`.

    Args:
        x: `[bs * width, ...]`.
        accept_index: `[bs, W]` flat rows, -1 padding, `W <= width`.
        width: `w`, verify rows a request.
    """
    bs, kept = accept_index.shape
    blocks = x.clone().view(bs, width, *x.shape[1:])
    blocks[:, :kept] = x[accept_index.clamp(min=0)]
    return blocks.flatten(0, 1)
