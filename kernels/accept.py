"""Which draft rows the target accepts: each rule once in plain torch and once in Triton, chosen by device.

Tensors on the CPU go through torch, which is the reference, tensors on a GPU through Triton; all arguments of a call lie
on one device, and nothing is synchronised on a GPU.

Shapes: `bs` requests, `w` verify rows a request (row 0 the root), `W` width of accept_index, `vocab` tokens. Rows of
results are flat over the batch (`i * w + local`), tree links are local to the request, and a link outside `[0, w)` is
none (engines write -1). Integer inputs are int32 or int64, probabilities and coins of one floating type (float32 on a
GPU), coins uniform in `[0, 1)`. Engines keep int32 results in buffers of their own and leave garbage past the valid
prefix; here all results are new and defined: see `Accepted`.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from speckv_debug.kernels import accept_chain_torch, accept_lens_torch, accept_tree_torch
from speckv_debug.kernels.accept_chain_torch import draw
from speckv_debug.kernels.accepted import Accepted

__all__ = [
    "Accepted",
    "ChainMatch",
    "accept_from_lens",
    "draw",
    "match_chain",
    "simulate_accept",
    "verify_chain_rejection",
    "verify_tree_greedy",
    "verify_tree_target_only",
]

FIXED_TOKEN = 100
"""What simulated acceptance writes as each token in its `fixed` mode."""


class ChainMatch(NamedTuple):
    """Accepted rows `[bs]`, the bonus token `[bs]`, and rows that the cap cut off `[bs]`; int64."""

    lens: Tensor
    bonus: Tensor
    trimmed: Tensor


def verify_tree_greedy(
    candidates: Tensor, next_token: Tensor, next_sibling: Tensor, target_predict: Tensor, width: int
) -> Accepted:
    """Follow the draft tree as long as a child carries the target's choice.

    The root is accepted always; from each accepted row the first child (in sibling order) whose token
    equals the target's prediction on that row is accepted next, until `width` rows are.

    SGLang 0.5.12 to 0.5.23 `verify_tree_greedy` (CUDA) and `verify_tree_greedy_kernel_triton`, with
    `retrieve_index[i, r] = i * w + r`.

    Args:
        candidates: `[bs, w]` input tokens of the verify rows.
        next_token: `[bs, w]` first child of each row.
        next_sibling: `[bs, w]` next sibling of each row.
        target_predict: `[bs, w]` the target's argmax on each row.
        width: `W`, the most rows that can be accepted (num_steps + 1; w for NGRAM).

    Returns:
        Accepted; the walk of a tree whose links lead in a circle ends, with a meaningless result.
    """
    if candidates.is_cuda:
        from speckv_debug.kernels import accept_tree_triton

        return accept_tree_triton.verify_tree_greedy(
            candidates, next_token, next_sibling, target_predict, width
        )
    return accept_tree_torch.verify_tree_greedy(candidates, next_token, next_sibling, target_predict, width)


def verify_tree_target_only(
    candidates: Tensor,
    next_token: Tensor,
    next_sibling: Tensor,
    target_probs: Tensor,
    coins: Tensor,
    final_coins: Tensor,
    width: int,
    threshold_single: float = 1.0,
    threshold_acc: float = 1.0,
) -> Accepted:
    """Sample down the draft tree by the target's distribution alone; with thresholds of 1 the output is distributed as it.

    The coin of an accepted row serves all its children: child after child (in sibling order) adds its
    target probability to a sum, and the first for which the coin is below `sum / threshold_acc`, or whose
    own probability reaches `threshold_single`, is accepted. Where none is, the output is drawn
    from the row's distribution without its children; behind `width` rows, from all of it.

    SGLang 0.5.21 to 0.5.23 `tree_speculative_sampling_target_only` (CUDA). `sgl_kernel` before took a coin equal to
    `sum / threshold_acc` as a hit too, even where the child's own probability is 0.

    Args:
        candidates, next_token, next_sibling: As in `verify_tree_greedy`; tokens in `[0, vocab)`.
        target_probs: `[bs, w, vocab]` the target's distribution behind each row.
        coins: `[bs, w]`, one for the children of each row.
        final_coins: `[bs]`, for the token drawn last.
        width: `W`.
        threshold_single: A child at least so probable is accepted whatever the coin.
        threshold_acc: Below 1 accepts more; taken as at least 1e-9.
    """
    verify = (candidates, next_token, next_sibling, target_probs, coins, final_coins)
    law = (width, threshold_single, threshold_acc)
    if candidates.is_cuda:
        from speckv_debug.kernels import accept_tree_triton

        return accept_tree_triton.verify_tree_target_only(*verify, *law)
    return accept_tree_torch.verify_tree_target_only(*verify, *law)


def verify_chain_rejection(
    candidates: Tensor,
    target_probs: Tensor,
    draft_probs: Tensor,
    coins: Tensor,
    final_coins: Tensor,
    *,
    block: bool = False,
    guard: bool = True,
) -> Accepted:
    """Speculative sampling on a chain: the output is distributed as the target alone would sample it.

    Classic: draft row k + 1 is accepted with probability `min(1, p / q)`; at the first rejection the output
    is drawn from `max(p - q, 0)`, after a full accept from the target's last distribution. Block
    verification (arXiv 2403.10444, algorithm 2) tests whole prefixes, the longest first: with
    `h(k) = min(1, h(k - 1) p / q)` prefix k has the chance `m / (m + 1 - h(k))` where `m` is the mass of
    `max(h(k) p - q, 0)` behind it (the full prefix `h` itself), and the output is drawn from those weights.

    SGLang `chain_speculative_sampling_triton`: classic 0.5.15 to 0.5.23, the guard since 0.5.21, `block_verification`
    since 0.5.22 (guarded always). It needs `W = w`.

    Args:
        candidates: `[bs, w]`, row 0 the root, row k + 1 drawn from `draft_probs[:, k]`; tokens in `[0, vocab)`.
        target_probs: `[bs, w, vocab]` the target's distribution behind each row.
        draft_probs: `[bs, w - 1, vocab]` the draft's distributions.
        coins: `[bs, w - 1]`, one an acceptance test.
        final_coins: `[bs]`, for the token drawn last.
        block: Block verification.
        guard: Reject a draft whose q is not in `(0, 1]`, and draw as if a q outside `[0, 1]`, or NaN, were 0.
    """
    chain = (candidates, target_probs, draft_probs, coins, final_coins, block, guard)
    if candidates.is_cuda:
        from speckv_debug.kernels import accept_chain_triton

        return accept_chain_triton.verify_chain_rejection(*chain)
    return accept_chain_torch.verify_chain_rejection(*chain)


def accept_from_lens(candidates: Tensor, bonus: Tensor, lens: Tensor, width: int) -> Accepted:
    """The accept of a chain engine that reports a length alone: rows `[0, lens)`, then the bonus.

    SGLang DFlash `_commit_accept` and DSpark `build_out_tokens`: their `out_tokens[:, :commit_lens]` is `predict`
    on the accepted rows.

    Args:
        candidates: `[bs, w]` the chain, row 0 the root.
        bonus: `[bs]` the last output token.
        lens: `[bs]` accepted rows, `commit_lens`, in `[0, min(w, W)]`; 0 accepts nothing (an inactive row).
        width: `W`.
    """
    if candidates.is_cuda:
        from speckv_debug.kernels import accept_lens_triton

        return accept_lens_triton.accept_from_lens(candidates, bonus, lens, width)
    return accept_lens_torch.accept_from_lens(candidates, bonus, lens, width)


def match_chain(candidates: Tensor, target_predict: Tensor, verify_lens: Tensor | None = None) -> ChainMatch:
    """Accept a chain as far as the drafts are what the target predicts one row before.

    SGLang DFlash `compute_dflash_correct_drafts_and_bonus` (0.5.15 to 0.5.23), DSpark `accept_greedy` with
    `cap_correct_len` (0.5.23): `lens` is `commit_lens`.

    Args:
        candidates: `[bs, w]`, row 0 the root.
        target_predict: `[bs, w]` the target's argmax on each row.
        verify_lens: `[bs]` rows that were verified at all, in `[1, w]`; all if None.
    """
    if verify_lens is None:
        verify_lens = torch.full_like(candidates[:, 0], candidates.shape[1])
    if candidates.is_cuda:
        from speckv_debug.kernels import accept_lens_triton

        return ChainMatch(*accept_lens_triton.match_chain(candidates, target_predict, verify_lens))
    return ChainMatch(*accept_lens_torch.match_chain(candidates, target_predict, verify_lens))


def simulate_accept(
    candidates: Tensor, target_predict: Tensor, lens: Tensor, width: int, *, real_tokens: bool
) -> Accepted:
    """What the engine makes of a verify when it is told how many rows to accept: rows `[0, lens)`.

    SGLang `generate_simulated_accept_index` (0.5.12 to 0.5.23; `simulated_accept` on CUDA since 0.5.23). Mode `fixed`
    writes token 100 on all rows, accepted or not. Mode `real-draft-token` (chains only) takes the drafts
    for accepted and the target's choice on the last accepted row for the bonus.

    Args:
        candidates: `[bs, w]`; only the shape counts in mode fixed.
        target_predict: `[bs, w]` the target's argmax; not read in mode fixed.
        lens: `[bs]` rows to accept, in `[1, min(w, W)]`.
        width: `W`.
        real_tokens: Mode `real-draft-token`, not `fixed`.
    """
    last = (lens.long() - 1)[:, None]
    bonus = target_predict.gather(1, last)[:, 0] if real_tokens else candidates[:, 0]
    accepted = accept_from_lens(candidates, bonus, lens, width)
    if real_tokens:
        return accepted
    return accepted._replace(predict=torch.full_like(accepted.predict, FIXED_TOKEN))
