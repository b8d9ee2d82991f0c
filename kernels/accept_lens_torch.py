"""Accept on a chain whose accepted length is known or plain to see, in torch. Contracts stand in `accept.py`."""

from __future__ import annotations

import torch
from torch import Tensor

from speckv_debug.kernels.accepted import Accepted


def accept_from_lens(candidates: Tensor, bonus: Tensor, lens: Tensor, width: int) -> Accepted:
    """See `accept.accept_from_lens`."""
    bs, rows = candidates.shape
    row, lens = torch.arange(rows, device=lens.device), lens.long()[:, None]
    behind = candidates.long().roll(-1, 1)
    predict = torch.where(row < lens - 1, behind, torch.where(row == lens - 1, bonus.long()[:, None], 0))
    k, start = torch.arange(width, device=lens.device), torch.arange(bs, device=lens.device)[:, None] * rows
    index = torch.where(k < lens, start + k, -1)
    return Accepted(predict.flatten(), index, (lens[:, 0] - 1).clamp(min=0))


def match_chain(
    candidates: Tensor, target_predict: Tensor, verify_lens: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """See `accept.match_chain`."""
    matches = candidates[:, 1:] == target_predict[:, :-1]
    drafts = matches.long().cumprod(1).sum(1)
    capped = torch.minimum(drafts, verify_lens.long() - 1)
    bonus = target_predict.long().gather(1, capped.clamp(min=0)[:, None])[:, 0]
    return capped + 1, bonus, drafts - capped
