"""Rejection sampling on a draft chain, in plain torch: the reference. Contracts stand in `accept.py`."""

from __future__ import annotations

import torch
from torch import Tensor

from speckv_debug.kernels.accept_lens_torch import accept_from_lens
from speckv_debug.kernels.accepted import Accepted


def verify_chain_rejection(
    candidates: Tensor,
    target_probs: Tensor,
    draft_probs: Tensor,
    coins: Tensor,
    final_coins: Tensor,
    block: bool,
    guard: bool,
) -> Accepted:
    """See `accept.verify_chain_rejection`."""
    bs, rows = candidates.shape
    tokens = candidates[:, 1:, None].long()
    p, q = (probs[:, : rows - 1].gather(2, tokens)[..., 0] for probs in (target_probs, draft_probs))
    if block:
        drafts, scale = _longest_block(p, q, target_probs, draft_probs, coins)
    else:
        drafts, scale = _tokens_in_turn(p, q, coins, guard), torch.ones_like(final_coins)
    request = torch.arange(bs, device=candidates.device)
    rest = _rest(target_probs, draft_probs, request, drafts, scale, block or guard)
    return accept_from_lens(candidates, draw(rest, final_coins), drafts + 1, rows)


def draw(weights: Tensor, coin: Tensor) -> Tensor:
    """Draw an index from unnormalised `weights` `[..., n]` by inverting the cumulative sum at `coin` `[...]`.

    The first index whose cumulative sum is above `coin` times the total; n - 1 if all weights are 0.
    """
    total = weights.cumsum(-1)
    index = torch.searchsorted(total, (coin * total[..., -1])[..., None], right=True)[..., 0]
    return index.clamp(max=weights.shape[-1] - 1)


def is_proposal(q: Tensor) -> Tensor:
    """Whether a draft probability can be that of a drawn token."""
    return (q > 0) & (q <= 1)


def _tokens_in_turn(p: Tensor, q: Tensor, coins: Tensor, guard: bool) -> Tensor:
    """Drafts `[bs]` before the first that fails its own test; p and q `[bs, w - 1]` of the drafted tokens."""
    passed = coins * q < p
    if guard:
        passed &= is_proposal(q)
    return passed.long().cumprod(1).sum(1)


def _longest_block(
    p: Tensor, q: Tensor, target_probs: Tensor, draft_probs: Tensor, coins: Tensor
) -> tuple[Tensor, Tensor]:
    """Drafts `[bs]` of the longest prefix that passes as a whole, and the weight of p behind it `[bs]`."""
    bs, steps = p.shape
    weight = p.new_ones(bs, steps + 1)  # of each prefix, the empty one first
    for k in range(steps):
        ratio = (weight[:, k] * p[:, k] / q[:, k]).clamp(max=1)
        weight[:, k + 1] = torch.where(is_proposal(q[:, k]), ratio, 0)
    chance = weight.clone()
    for k in range(1, steps):
        left = (weight[:, k, None] * target_probs[:, k] - draft_probs[:, k]).clamp(min=0).sum(-1)
        inside = (weight[:, k] > 0) & (weight[:, k] < 1)
        chance[:, k] = torch.where(inside, left / (left + 1 - weight[:, k]), chance[:, k])
    passed = (coins < weight[:, 1:]) & (coins < chance[:, 1:])
    lengths = torch.arange(1, steps + 1, device=p.device)
    drafts = torch.cat((lengths.new_zeros(bs, 1), passed * lengths), 1).amax(1)
    return drafts, weight.gather(1, drafts[:, None])[:, 0]


def _rest(
    target_probs: Tensor, draft_probs: Tensor, request: Tensor, drafts: Tensor, scale: Tensor, guard: bool
) -> Tensor:
    """Weights `[bs, vocab]` of the token behind the accepted drafts: p after a full accept, else `max(scale p - q, 0)`."""
    p, steps = target_probs[request, drafts], draft_probs.shape[1]
    if not steps:
        return p
    q = draft_probs[request, drafts.clamp(max=steps - 1)]
    if guard:
        q = torch.where((q >= 0) & (q <= 1), q, 0)
    return torch.where((drafts == steps)[:, None], p, (scale[:, None] * p - q).clamp(min=0))
