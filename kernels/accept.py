"""Which draft rows the target accepts: the reference in plain torch, on the CPU.

Shapes: `bs` requests, `w` verify rows a request, `W` width of accept_index. Rows are flat over the
batch (`i * w + local`), tree links are local to the request, -1 is none. Integer tensors are int64.
"""

from __future__ import annotations

import torch
from torch import Tensor


def verify_tree_greedy(
    candidates: Tensor, next_token: Tensor, next_sibling: Tensor, target_predict: Tensor, width: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Follow the draft tree as long as a child carries the target's choice.

    The root is accepted always; from each accepted row the first child (in sibling order) whose token
    equals the target's prediction on that row is accepted next. SGLang `verify_tree_greedy`.

    Args:
        candidates: `[bs, w]` input tokens of the verify rows, row 0 the root.
        next_token: `[bs, w]` first child of each row.
        next_sibling: `[bs, w]` next sibling of each row.
        target_predict: `[bs, w]` the target's argmax on each row.
        width: `W`, the most rows that can be accepted (num_steps + 1).

    Returns:
        predict `[bs * w]` (the target's choice on accepted rows, 0 elsewhere), accept_index `[bs, W]`
        (flat rows, root first, -1 padding), num_correct_drafts `[bs]` (accepted rows less the root).
    """
    bs, rows = candidates.shape
    predict = torch.zeros(bs * rows, dtype=torch.int64)
    accept_index = torch.full((bs, width), -1, dtype=torch.int64)
    drafts = torch.zeros(bs, dtype=torch.int64)
    for i in range(bs):
        tree = (candidates[i].tolist(), next_token[i].tolist(), next_sibling[i].tolist())
        chosen = target_predict[i].tolist()
        path = _greedy_path(*tree, chosen, width)
        drafts[i] = len(path) - 1
        for k, row in enumerate(path):
            accept_index[i, k] = i * rows + row
            predict[i * rows + row] = chosen[row]
    return predict, accept_index, drafts


def _greedy_path(
    tokens: list[int], child: list[int], sibling: list[int], chosen: list[int], width: int
) -> list[int]:
    path = [0]
    while len(path) < width:
        row = child[path[-1]]
        while row != -1 and tokens[row] != chosen[path[-1]]:
            row = sibling[row]
        if row == -1:
            break
        path.append(row)
    return path


def verify_chain_rejection(
    candidates: Tensor, target_probs: Tensor, draft_probs: Tensor, coins: Tensor, final_coins: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Speculative sampling on a chain: the output is distributed as the target alone would sample it.

    Draft row k + 1 is accepted with probability `min(1, p / q)`; at the first rejection the output is
    drawn from `max(p - q, 0)`, after a full accept from the target's last distribution.
    SGLang `chain_speculative_sampling`.

    Args:
        candidates: `[bs, w]`, row 0 the root, row k + 1 drawn from `draft_probs[:, k]`.
        target_probs: `[bs, w, vocab]` the target's distribution behind each row.
        draft_probs: `[bs, w - 1, vocab]` the draft's distribution that row k + 1 was drawn from.
        coins: `[bs, w - 1]` uniform in [0, 1), one an acceptance test.
        final_coins: `[bs]` uniform in [0, 1), for the token drawn last.

    Returns:
        As `verify_tree_greedy`, with `W = w`.
    """
    bs, rows = candidates.shape
    predict = torch.zeros(bs * rows, dtype=torch.int64)
    accept_index = torch.full((bs, rows), -1, dtype=torch.int64)
    drafts = torch.zeros(bs, dtype=torch.int64)
    for i in range(bs):
        n = _accepted_drafts(candidates[i], target_probs[i], draft_probs[i], coins[i])
        rest = target_probs[i, n]
        if n < rows - 1:
            rest = (rest - draft_probs[i, n]).clamp(min=0)
        drafts[i] = n
        accept_index[i, : n + 1] = torch.arange(i * rows, i * rows + n + 1)
        predict[i * rows : i * rows + n] = candidates[i, 1 : n + 1]
        predict[i * rows + n] = draw(rest, final_coins[i])
    return predict, accept_index, drafts


def _accepted_drafts(tokens: Tensor, p: Tensor, q: Tensor, coins: Tensor) -> int:
    for k in range(len(coins)):
        token = tokens[k + 1]
        if coins[k] * q[k, token] >= p[k, token]:
            return k
    return len(coins)


def draw(weights: Tensor, coin: Tensor) -> Tensor:
    """Draw an index from unnormalised `weights` `[..., n]` by inverting the cumulative sum at `coin` `[...]`."""
    total = weights.cumsum(-1)
    index = torch.searchsorted(total, (coin * total[..., -1])[..., None], right=True)[..., 0]
    return index.clamp(max=weights.shape[-1] - 1)
