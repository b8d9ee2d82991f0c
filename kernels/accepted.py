"""What a target verify accepted, in the layout that the engine hands on."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Accepted(NamedTuple):
    """The result of each accept kernel, int64, on the device of its inputs (SGLang has int32).

    `bs` requests, `w` verify rows a request, `W` width of accept_index. Rows are flat over the batch:
    `i * w + local`.

    Attributes:
        predict: `[bs * w]`. Row r holds the output token that comes *behind* row r; so an accepted child's token
            stands on its parent's row, and the last accepted row carries the bonus. 0 on rows not accepted
            (SGLang leaves there what the buffer held).
        accept_index: `[bs, W]` accepted rows, root first, then -1.
        num_correct_drafts: `[bs]` accepted rows less the root.
    """

    predict: Tensor
    accept_index: Tensor
    num_correct_drafts: Tensor

    @property
    def accept_lens(self) -> Tensor:
        """`[bs]` length of each valid prefix of accept_index."""
        return (self.accept_index >= 0).sum(1)


def nothing_accepted(bs: int, rows: int, width: int, device: torch.device) -> Accepted:
    """Buffers for a kernel to write into: predict 0, accept_index -1, no drafts."""
    return Accepted(
        torch.zeros(bs * rows, dtype=torch.int64, device=device),
        torch.full((bs, width), -1, dtype=torch.int64, device=device),
        torch.zeros(bs, dtype=torch.int64, device=device),
    )
