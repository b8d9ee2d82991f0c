"""Accept on a draft tree, in plain torch: the reference. Contracts stand in `accept.py`.

All requests of the batch walk at once, one visited row a turn.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from speckv_debug.kernels.accept_chain_torch import draw
from speckv_debug.kernels.accepted import Accepted

Test = Callable[[Tensor, Tensor, Tensor], Tensor]
"""`(requests, last accepted flat rows, flat rows visited) -> which of those are accepted`."""


def verify_tree_greedy(
    candidates: Tensor, next_token: Tensor, next_sibling: Tensor, target_predict: Tensor, width: int
) -> Accepted:
    """See `accept.verify_tree_greedy`."""
    tokens, chosen = candidates.flatten(), target_predict.flatten()
    index, count, _ = _walk(
        next_token, next_sibling, width, lambda request, last, row: tokens[row] == chosen[last]
    )
    predict = torch.zeros(len(tokens), dtype=torch.int64, device=tokens.device)
    rows = index[index >= 0]
    predict[rows] = chosen[rows].long()
    return Accepted(predict, index, count - 1)


def verify_tree_target_only(
    candidates: Tensor,
    next_token: Tensor,
    next_sibling: Tensor,
    target_probs: Tensor,
    coins: Tensor,
    final_coins: Tensor,
    width: int,
    threshold_single: float,
    threshold_acc: float,
) -> Accepted:
    """See `accept.verify_tree_target_only`."""
    probs, tokens = target_probs.flatten(0, 1), candidates.flatten().long()
    lottery = _Lottery(probs, tokens, coins, threshold_single, max(threshold_acc, 1e-9))
    index, count, last = _walk(next_token, next_sibling, width, lottery)
    rest = probs[last].clone()
    for request, row in _refused(next_token, next_sibling, last, count < width):
        rest[request, tokens[row]] = 0
    predict = torch.zeros(len(tokens), dtype=torch.int64, device=tokens.device)
    children = index[:, 1:]
    predict[index[:, :-1][children >= 0]] = tokens[children[children >= 0]]
    predict[last] = draw(rest, final_coins)
    return Accepted(predict, index, count - 1)


class _Lottery:
    """One coin for all children of a row: each gets an interval as long as its target probability."""

    def __init__(self, probs: Tensor, tokens: Tensor, coins: Tensor, single: float, scale: float) -> None:
        self._probs, self._tokens, self._coins = probs, tokens, coins.flatten()
        self._single, self._scale = single, scale
        self._passed = torch.zeros(len(coins), dtype=probs.dtype, device=probs.device)  # by visited siblings

    def __call__(self, request: Tensor, last: Tensor, row: Tensor) -> Tensor:
        own = self._probs[last, self._tokens[row]]
        passed = self._passed[request] + own
        hit = (own > 0) & ((self._coins[last] < passed / self._scale) | (own >= self._single))
        self._passed[request] = torch.where(hit, 0, passed)
        return hit


def _walk(
    next_token: Tensor, next_sibling: Tensor, width: int, accepts: Test
) -> tuple[Tensor, Tensor, Tensor]:
    """Go down from each root: to the first child of a row that is accepted, else to the row's next sibling.

    Returns accept_index `[bs, width]`, rows accepted `[bs]`, last accepted flat row `[bs]`.
    """
    bs, rows = next_token.shape
    child, sibling = next_token.flatten(), next_sibling.flatten()
    request = torch.arange(bs, device=child.device)
    row = request * rows
    index = torch.full((bs, width + 1), -1, dtype=torch.int64, device=child.device)  # last: what nobody reads
    index[:, 0] = row
    ends, node, count = row.clone(), child[row], torch.ones_like(request)
    for _ in range((width - 1) * rows):  # a damaged tree may lead in a circle
        going = (node >= 0) & (node < rows) & (count < width)
        left = int(going.sum())
        if 2 * left < len(request):  # those that have arrived drop out, not one by one
            kept = going.nonzero()[:, 0]
            request, row, node, count, going = (each[kept] for each in (request, row, node, count, going))
        if not left:
            break
        at = request * rows + torch.where(going, node, 0)
        hit = accepts(request, row, at) & going
        row = torch.where(hit, at, row)
        index[request, torch.where(hit, count, width)] = at
        ends[request] = row
        count += hit
        node = torch.where(hit, child[at], torch.where(going, sibling[at], -1))
    index = index[:, :width]
    return index, (index >= 0).sum(1), ends


def _refused(
    next_token: Tensor, next_sibling: Tensor, last: Tensor, open_: Tensor
) -> list[tuple[Tensor, Tensor]]:
    """Children of the last accepted rows, where the walk did not end at the full width: `(request, flat row)`."""
    rows, sibling = next_token.shape[1], next_sibling.flatten()
    request = torch.arange(len(last), device=last.device)[open_]
    node = next_token.flatten()[last[open_]]
    found = []
    for _ in range(rows):
        going = (node >= 0) & (node < rows)
        request, node = request[going], node[going]
        if not len(request):
            break
        at = request * rows + node
        found.append((request, at))
        node = sibling[at]
    return found
