"""Random inputs for the accept kernels, from a seed: the same on every machine.

Probabilities and coins are exact binary fractions with so few digits that no sum or product the kernels form is
rounded, and no coin equals a bound: two right kernels agree bit for bit, in whatever order they add.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

FEW = 8


class Tree(NamedTuple):
    """Tokens and links of `bs` draft trees `[bs, w]`, int64."""

    candidates: Tensor
    next_token: Tensor
    next_sibling: Tensor


def tree(toss: torch.Generator, bs: int, rows: int, alphabet: int) -> Tree:
    """Any trees: each row but the root hangs below some earlier row, among its children at some place."""
    child, sibling = torch.full((2, bs, rows), -1).unbind()
    request = torch.arange(bs)
    for row in range(1, rows):
        parent = torch.randint(row, (bs,), generator=toss)
        first = child[request, parent]
        behind = (first >= 0) & (torch.rand(bs, generator=toss) < 0.5)  # the first child keeps its place
        after = request[behind], first[behind]
        sibling[request[behind], row] = sibling[after]
        sibling[after] = row
        before = ~behind
        sibling[request[before], row] = first[before]
        child[request[before], parent[before]] = row
    return Tree(tokens(toss, bs, rows, alphabet), child, sibling)


def tokens(toss: torch.Generator, bs: int, rows: int, alphabet: int) -> Tensor:
    """Tokens `[bs, rows]` below `alphabet`: few enough that siblings repeat and predictions hit."""
    return torch.randint(alphabet, (bs, rows), generator=toss)


def probabilities(toss: torch.Generator, *shape: int, bits: int) -> Tensor:
    """Distributions along the last axis, multiples of `2 ** -bits`, zeros among them; float32.

    Of a large vocabulary the first `FEW` tokens have half the mass.
    """
    whole = 1 << bits
    weights = torch.rand(*shape, generator=toss, dtype=torch.float64) ** 3
    weights[..., :FEW] *= max(shape[-1] / FEW, 1)
    parts = (weights / weights.sum(-1, keepdim=True) * whole).floor()
    lucky = torch.randint(shape[-1], (*shape[:-1], 1), generator=toss)
    parts.scatter_add_(-1, lucky, whole - parts.sum(-1, keepdim=True))
    return (parts / whole).float()


def halved(toss: torch.Generator, *shape: int) -> Tensor:
    """Distributions along the last axis whose positive values are powers of two; float32."""
    sizes = torch.tensor([2.0**-k for k in range(1, shape[-1])] + [2.0 ** (1 - shape[-1])])
    order = torch.rand(*shape, generator=toss).argsort(-1)
    return sizes[order]


def coins(toss: torch.Generator, *shape: int) -> Tensor:
    """Odd multiples of `2 ** -24` in (0, 1); float32."""
    return (torch.randint(1 << 23, shape, generator=toss) * 2 + 1).double().div(1 << 24).float()


class Sampling(NamedTuple):
    """Arguments of the tree's target-only sampling."""

    candidates: Tensor
    next_token: Tensor
    next_sibling: Tensor
    target_probs: Tensor
    coins: Tensor
    final_coins: Tensor


def target_only(toss: torch.Generator, bs: int, rows: int, vocab: int) -> Sampling:
    """Trees with a target distribution on each row."""
    probs = probabilities(toss, bs, rows, vocab, bits=12)
    return Sampling(*tree(toss, bs, rows, min(vocab, FEW)), probs, coins(toss, bs, rows), coins(toss, bs))


class Chain(NamedTuple):
    """Arguments of the chain's rejection sampling."""

    candidates: Tensor
    target_probs: Tensor
    draft_probs: Tensor
    coins: Tensor
    final_coins: Tensor


def chain(toss: torch.Generator, bs: int, rows: int, vocab: int) -> Chain:
    """Chains of up to 5 rows over up to 12 tokens, to stay exact through the products of block verification."""
    assert rows <= 5 and vocab <= 12
    p, q = probabilities(toss, bs, rows, vocab, bits=3), halved(toss, bs, rows - 1, vocab)
    drafts = (
        torch.multinomial(q.flatten(0, 1), 1, generator=toss).view(bs, rows - 1) if rows > 1 else q[..., 0]
    )
    drafts = torch.where(torch.rand(bs, rows - 1, generator=toss) < 0.2, p[:, :-1].argmax(-1), drafts)
    candidates = torch.cat((tokens(toss, bs, 1, vocab), drafts.long()), 1)
    return Chain(candidates, p, q, coins(toss, bs, rows - 1), coins(toss, bs))


def rounded_chain(toss: torch.Generator, bs: int, rows: int, vocab: int, sharpness: float) -> Chain:
    """Chains with distributions as a softmax gives them: sums are rounded, so that order can decide a draw."""
    logits = torch.randn(bs, rows, vocab, generator=toss) * sharpness
    p = logits.softmax(-1)
    q = (logits[:, :-1] + torch.randn(bs, rows - 1, vocab, generator=toss)).softmax(-1)
    drafts = torch.multinomial(q.flatten(0, 1), 1, generator=toss).view(bs, rows - 1)
    candidates = torch.cat((tokens(toss, bs, 1, vocab), drafts), 1)
    return Chain(
        candidates,
        p,
        q,
        torch.rand(bs, rows - 1, generator=toss),
        torch.rand(bs, generator=toss),
    )


def seeded(seed: int) -> torch.Generator:
    """A generator on the CPU."""
    return torch.Generator().manual_seed(seed)
