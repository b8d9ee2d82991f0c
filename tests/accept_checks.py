"""What Triton makes of an accept beside torch, and the law that sampling keeps.

Each check draws its case from `toss`; Triton runs on `device`, interpreted where that is the CPU, torch on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch
from torch import Tensor

from speckv_debug.kernels import accept_chain_torch, accept_lens_torch, accept_tree_torch
from tests import accept_cases as cases


def same(ours: tuple[Tensor, ...], due: tuple[Tensor, ...]) -> None:
    """All results are equal, element by element and in type."""
    assert len(ours) == len(due)
    for left, right in zip(ours, due, strict=True):
        assert left.dtype == right.dtype
        assert torch.equal(left.cpu(), right), (left, right)


def _sizes(toss: Random, most_rows: int) -> tuple[torch.Generator, int, int, int]:
    """A generator, requests, rows and width."""
    rows = toss.randrange(1, most_rows + 1)
    return cases.seeded(toss.randrange(1 << 30)), toss.randrange(7), rows, toss.randrange(1, rows + 2)


def _as_engines_have(toss: Random, tensors: tuple[Tensor, ...], device: str) -> list[Tensor]:
    """int32 or int64, and not always contiguous."""
    wide = [t if t.is_floating_point() or toss.random() < 0.5 else t.int() for t in tensors]
    strided = [torch.stack((t, t), -1)[..., 0] if toss.random() < 0.3 else t for t in wide]
    return [t.to(device) for t in strided]


def check_greedy(toss: Random, device: str, times: int = 1) -> None:
    """Greedy verification of trees, with links out of range among those that are none."""
    from speckv_debug.kernels import accept_tree_triton

    generator, bs, rows, width = _sizes(toss, 12)
    bs *= times
    tree = cases.tree(generator, bs, rows, toss.randrange(1, 6))
    none = toss.choice([-1, -5, rows, rows + 3])
    links = [torch.where(t < 0, none, t) for t in tree[1:]]
    args = (tree.candidates, *links, cases.tokens(generator, bs, rows, 5))
    due = accept_tree_torch.verify_tree_greedy(*args, width)
    same(accept_tree_triton.verify_tree_greedy(*_as_engines_have(toss, args, device), width), due)


def check_target_only(toss: Random, device: str, times: int = 1) -> None:
    """Target-only sampling of trees, at all kinds of thresholds."""
    from speckv_debug.kernels import accept_tree_triton

    generator, bs, rows, width = _sizes(toss, 9)
    verify = cases.target_only(generator, bs * times, rows, toss.randrange(1, 40))
    law = (width, toss.choice([1.0, 0.75, 0.25, 0.0]), toss.choice([1.0, 0.5, 0.0]))
    due = accept_tree_torch.verify_tree_target_only(*verify, *law)
    ours = accept_tree_triton.verify_tree_target_only(*_as_engines_have(toss, verify, device), *law)
    same(ours, due)


def check_chain(toss: Random, device: str, times: int = 1) -> None:
    """Rejection sampling on chains, classic and by block."""
    from speckv_debug.kernels import accept_chain_triton

    generator, bs, rows, _ = _sizes(toss, 5)
    chain = cases.chain(generator, bs * times, rows, toss.randrange(2, 13))
    block, guard = toss.random() < 0.5, toss.random() < 0.5
    due = accept_chain_torch.verify_chain_rejection(*chain, block, guard)
    same(
        accept_chain_triton.verify_chain_rejection(*_as_engines_have(toss, chain, device), block, guard), due
    )


def check_lens(toss: Random, device: str, times: int = 1) -> None:
    """Chains by their lengths."""
    from speckv_debug.kernels import accept_lens_triton

    generator, bs, rows, width = _sizes(toss, 12)
    bs *= times
    chain = (cases.tokens(generator, bs, rows, 2), cases.tokens(generator, bs, rows, 2))
    match = (*chain, torch.randint(1, rows + 1, (bs,), generator=generator))
    lens, bonus, trimmed = accept_lens_torch.match_chain(*match)
    same(accept_lens_triton.match_chain(*_as_engines_have(toss, match, device)), (lens, bonus, trimmed))
    lens = torch.minimum(lens - (torch.rand(bs, generator=generator) < 0.2).long(), torch.tensor(width))
    due = accept_lens_torch.accept_from_lens(chain[0], bonus, lens, width)
    args = _as_engines_have(toss, (chain[0], bonus, lens), device)
    same(accept_lens_triton.accept_from_lens(*args, width), due)


CHECKS: dict[str, Callable[..., None]] = {
    "greedy": check_greedy,
    "target_only": check_target_only,
    "chain": check_chain,
    "lens": check_lens,
}

VOCAB, DEPTH = 3, 3
P = [[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.25, 0.05, 0.7]]
"""The target's next token behind each token."""
Q = [[0.2, 0.2, 0.6], [0.3, 0.4, 0.3], [0.6, 0.3, 0.1]]
"""The draft's."""
TREE = ([0, 1, 2, 0, 2, 1], [1, 3, 5, -1, -1, -1], [-1, 2, -1, 4, -1, -1])
"""Tokens, first children and next siblings: 0 over 1 and 2, 1 over 0 and 2, 2 over 1."""


def chi_square(outputs: Tensor) -> float:
    """Pearson's statistic of the first `DEPTH` output tokens `[n, DEPTH]` behind token 0, under the target's law."""
    p = torch.tensor(P, dtype=torch.float64)
    due = p[0]
    for _ in range(DEPTH - 1):
        due = (due[:, None] * p[torch.arange(len(due)) % VOCAB]).flatten()
    code = sum(outputs[:, k] * VOCAB ** (DEPTH - 1 - k) for k in range(DEPTH))
    found = torch.bincount(torch.as_tensor(code), minlength=len(due)).double()
    return float(((found - due * len(outputs)) ** 2 / (due * len(outputs))).sum())


def chi_square_bound(sigmas: float = 5.0) -> float:
    """What the statistic exceeds with a chance of 3e-7 (Wilson and Hilferty)."""
    freedom = VOCAB**DEPTH - 1
    return float(freedom * (1 - 2 / (9 * freedom) + sigmas * (2 / (9 * freedom)) ** 0.5) ** 3)


def drawn_outputs(rule: str, verify: Callable[..., Any], n: int, device: str, seed: int = 1) -> Tensor:
    """The first `DEPTH` output tokens `[n, DEPTH]` of n rounds behind token 0: the round's, then the target's own.

    Args:
        rule: `classic`, `block` or `target_only`.
        verify: The accept kernel with the rule's arguments bound.
        n: Independent rounds.
        device: Where the kernel runs.
        seed: Of all coins.
    """
    toss = cases.seeded(seed)
    p, q = (torch.tensor(x, dtype=torch.float32) for x in (P, Q))
    args = _tree_round(toss, p, n) if rule == "target_only" else _chain_round(toss, p, q, n)
    accepted = verify(*(t.to(device) for t in args))
    path, predict = accepted.accept_index.cpu(), accepted.predict.cpu()
    outputs = torch.where(path >= 0, predict[path], -1)[:, :DEPTH]
    for k in range(1, DEPTH):
        own = torch.multinomial(p[outputs[:, k - 1]], 1, generator=toss)[:, 0]
        outputs[:, k] = torch.where(outputs[:, k] < 0, own, outputs[:, k])
    return outputs


def _chain_round(toss: torch.Generator, p: Tensor, q: Tensor, n: int) -> tuple[Tensor, ...]:
    tokens = [torch.zeros(n, dtype=torch.int64)]
    for _ in range(DEPTH - 1):
        tokens.append(torch.multinomial(q[tokens[-1]], 1, generator=toss)[:, 0])
    chain = torch.stack(tokens, 1)
    coins, last = torch.rand(n, DEPTH - 1, generator=toss), torch.rand(n, generator=toss)
    return chain, p[chain], q[chain[:, :-1]], coins, last


def _tree_round(toss: torch.Generator, p: Tensor, n: int) -> tuple[Tensor, ...]:
    tokens, child, sibling = (torch.tensor(x).expand(n, -1).contiguous() for x in TREE)
    coins, last = torch.rand(n, len(TREE[0]), generator=toss), torch.rand(n, generator=toss)
    return tokens, child, sibling, p[tokens], coins, last
