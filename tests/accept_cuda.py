"""Our accept kernels beside SGLang's own compiled ones, on a GPU where SGLang 0.5.15 and sgl_kernel are installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import torch
from torch import Tensor

from speckv_debug.kernels import accept
from speckv_debug.kernels.accepted import Accepted
from tests import accept_cases as cases

REQUESTS = 400
"""Of each random batch."""


def buffers(bs: int, rows: int, width: int, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """`predict`, `accept_index`, `accept_token_num`, garbage where the kernels need not write."""
    predict, drafts = (torch.full((n,), -7, dtype=torch.int32, device=device) for n in (bs * rows, bs))
    return predict, torch.full((bs, width), -1, dtype=torch.int32, device=device), drafts


def retrieve_index(bs: int, rows: int, device: str) -> Tensor:
    """The flat row of each local row."""
    return torch.arange(bs * rows, device=device).view(bs, rows)


def agree(ours: Accepted, real: tuple[Tensor, ...]) -> None:
    """Bit for bit where the outcome is defined."""
    predict, index, drafts = (t.long().cpu() for t in real)
    due = Accepted(*(t.cpu() for t in ours))
    assert torch.equal(due.accept_index, index)
    assert torch.equal(due.num_correct_drafts, drafts)
    rows = index[index >= 0]
    assert torch.equal(due.predict[rows], predict[rows])


def compare_greedy(seeds: Iterable[int], real: Callable[..., Any], device: str = "cuda") -> int:
    """Greedy verification of trees; returns the requests compared."""
    compared = 0
    for seed in seeds:
        toss, size = cases.seeded(seed), Random(seed)
        rows, alphabet = size.randrange(1, 33), size.randrange(1, 6)
        width = size.randrange(1, rows + 1)
        tree = [t.to(device) for t in cases.tree(toss, REQUESTS, rows, alphabet)]
        chosen = cases.tokens(toss, REQUESTS, rows, alphabet).to(device)
        out = buffers(REQUESTS, rows, width, device)
        real(*out, tree[0], retrieve_index(REQUESTS, rows, device), *tree[1:], chosen)
        agree(accept.verify_tree_greedy(*tree, chosen, width), out)
        compared += REQUESTS
    return compared


def compare_target_only(seeds: Iterable[int], real: Callable[..., Any], device: str = "cuda") -> int:
    """Target-only sampling of trees; returns the requests compared."""
    compared = 0
    for seed in seeds:
        toss, size = cases.seeded(seed), Random(seed)
        rows, vocab = size.randrange(1, 17), size.choice([3, 17, 64, 1000, 5000])
        width, single, scale = (
            size.randrange(1, rows + 1),
            size.choice([1.0, 1.0, 0.25]),
            size.choice([1.0, 1.0, 0.5]),
        )
        verify = cases.Sampling(*(t.to(device) for t in cases.target_only(toss, REQUESTS, rows, vocab)))
        out, links = buffers(REQUESTS, rows, width, device), (verify.next_token, verify.next_sibling)
        coins, refused = (verify.coins, verify.final_coins), torch.zeros_like(verify.target_probs)
        where = retrieve_index(REQUESTS, rows, device)
        real(
            *out, verify.candidates, where, *links, *coins, verify.target_probs, refused, single, scale, True
        )
        agree(accept.verify_tree_target_only(*verify, width, single, scale), out)
        compared += REQUESTS
    return compared


def compare_chain(
    seeds: Iterable[int], real: Callable[..., Any], device: str = "cuda", guard: bool = False
) -> int:
    """Classic rejection sampling on chains; returns the requests compared.

    Of two rows at least: Triton 3.6 fails to compile SGLang's kernel for one.
    """
    compared = 0
    for seed in seeds:
        toss, size = cases.seeded(seed), Random(seed)
        rows, vocab = size.randrange(2, 6), size.randrange(2, 13)
        chain = cases.Chain(*(t.to(device) for t in cases.chain(toss, REQUESTS, rows, vocab)))
        out, where = buffers(REQUESTS, rows, rows, device), retrieve_index(REQUESTS, rows, device)
        none = torch.full_like(where, -1)
        coins = torch.cat((chain.coins, torch.rand(REQUESTS, 1, device=device)), 1)
        probs = (chain.target_probs, chain.draft_probs)
        real(*out, chain.candidates, where, none, none, coins, chain.final_coins, *probs, 1.0, 1.0, True)
        agree(accept.verify_chain_rejection(*chain, guard=guard), out)
        compared += REQUESTS
    return compared


def tie_rule(real: Callable[..., Any], device: str = "cuda") -> dict[str, bool]:
    """What a release does where the coin equals the mass, and where a child has no target mass but the coin is 0."""
    found = {}
    for name, mass, coin in (
        ("a coin equal to the mass accepts", 0.5, 0.5),
        ("no mass, coin 0 accepts", 0.0, 0.0),
    ):
        out, links = buffers(1, 2, 2, device), torch.tensor([[[1, -1]], [[-1, -1]]], device=device)
        probs = torch.tensor([[[mass, 1 - mass], [0.5, 0.5]]], device=device)
        coins, last = torch.tensor([[coin, 0.5]], device=device), torch.tensor([0.25], device=device)
        tokens, where = torch.tensor([[1, 0]], device=device), retrieve_index(1, 2, device)
        real(
            *out, tokens, where, *links.unbind(), coins, last, probs, torch.zeros_like(probs), 1.0, 1.0, True
        )
        found[name] = bool(out[2].item())
    return found


def _cuda_greedy(seeds: Iterable[int]) -> int:
    from sgl_kernel import verify_tree_greedy

    return compare_greedy(seeds, verify_tree_greedy)


def _cuda_target_only(seeds: Iterable[int]) -> int:
    from sgl_kernel import tree_speculative_sampling_target_only

    return compare_target_only(seeds, tree_speculative_sampling_target_only)


def _triton_greedy(seeds: Iterable[int]) -> int:
    from sglang.srt.speculative.eagle_utils import verify_tree_greedy_triton

    return compare_greedy(seeds, verify_tree_greedy_triton)


def _triton_chain(seeds: Iterable[int]) -> int:
    from sglang.srt.speculative.reject_sampling import chain_speculative_sampling_triton

    return compare_chain(seeds, chain_speculative_sampling_triton)


COMPARISONS: dict[str, Callable[[Iterable[int]], int]] = {
    "sgl_kernel verify_tree_greedy": _cuda_greedy,
    "sgl_kernel tree_speculative_sampling_target_only": _cuda_target_only,
    "SGLang verify_tree_greedy_triton": _triton_greedy,
    "SGLang chain_speculative_sampling_triton": _triton_chain,
}
