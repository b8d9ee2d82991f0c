"""A causal transformer that reads keys and values through a store, and its noisy copy that drafts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from speckv_debug.collectors.reference.config import ModelShape

if TYPE_CHECKING:
    from speckv_debug.collectors.reference.compressor import SideWeights

ROPE_BASE = 100.0
LOGIT_GAIN = 2.5
INDEXED_LAYER = 0
"""The layer of the target that an indexer chooses positions for, where it has one."""
DTYPE = torch.float64


class KVStore(Protocol):
    """Keys and values by layer and slot; attention reads nothing else.

    Attributes:
        index: `[slots, width]` keys of the indexer, where the model has one.
    """

    index: Tensor

    def write(self, layer: int, slots: Tensor, keys: Tensor, values: Tensor) -> None:
        """Store `[n, heads, head_dim]` at `slots` `[n]`."""

    def read(self, layer: int, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values `[..., heads, head_dim]` at `slots` `[...]`."""

    def beside(self, layer: int, x: Tensor, where: Addresses) -> Entries | None:
        """What a layer attends to beside keys and values, by its normed input `[B, T, hidden]`; None for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Key and value in one, without a rotation.

    Attributes:
        values: `[B, E, hidden]`.
        mask: `[B, T, E]` which of them each row attends to.
    """

    values: Tensor
    mask: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The new rows of a forward, as state beside the KV is addressed.

    Attributes:
        rows: `[B]` request rows.
        starts: `[B]` positions that are valid before.
        sees: `[B, T, T]` which new rows each of them continues, itself included.
        settled: All of them are valid positions, none a draft.
    """

    rows: Tensor
    starts: Tensor
    sees: Tensor
    settled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where a forward writes and reads.

    Attributes:
        positions: `[B, T]` of the new rows.
        slots: `[B, T]` that they are written to.
        context: `[B, C]` slots that attention may read, the new rows' own included.
        mask: `[B, T, C]` which of them each row attends to.
        behind: `[B, C]` positions of the context, which sliding-window layers go by; None where there are none.
        block: What state beside the KV goes by; None where there is none.
    """

    positions: Tensor
    slots: Tensor
    context: Tensor
    mask: Tensor
    behind: Tensor | None = None
    block: Block | None = None

    def within(self, window: int) -> Tensor:
        """`[B, T, C]` what each row attends to of the last `window` positions, its own included."""
        assert self.behind is not None
        return self.mask & (self.positions[:, :, None] - self.behind[:, None] < window)


def windowed(layer: int) -> bool:
    """Whether it is one of the sliding-window layers of a model that has some: every second one."""
    return layer % 2 == 1


class Weights:
    """All parameters, drawn from a seed."""

    def __init__(self, shape: ModelShape, seed: int) -> None:
        """Draw them; two of the same shape and seed are equal."""
        self.shape = shape
        draw, h = torch.Generator().manual_seed(seed), shape.hidden

        def normal(rows: int, columns: int, scale: float) -> Tensor:
            return torch.randn(rows, columns, generator=draw, dtype=DTYPE) * scale

        self.embedding = normal(shape.vocab, h, 1.0)
        self.head = normal(h, shape.vocab, LOGIT_GAIN / math.sqrt(h))
        self.qkv = [normal(h, 3 * h, 1.5 / math.sqrt(h)) for _ in range(shape.layers)]
        self.out = [normal(h, h, 1.5 / math.sqrt(h)) for _ in range(shape.layers)]
        self.up = [normal(h, 2 * h, 1.0 / math.sqrt(h)) for _ in range(shape.layers)]
        self.down = [normal(2 * h, h, 1.5 / math.sqrt(2 * h)) for _ in range(shape.layers)]
        self.fuse = normal(h, h, 0.05 / math.sqrt(h))

    def with_noise(self, level: float, seed: int) -> Weights:
        """A copy whose every parameter is off by `level` standard deviations of its matrix."""
        copy, draw = Weights(self.shape, 0), torch.Generator().manual_seed(seed)

        def blurred(matrix: Tensor) -> Tensor:
            noise = torch.randn(matrix.shape, generator=draw, dtype=DTYPE)
            return matrix + level * matrix.std() * noise

        copy.embedding, copy.head, copy.fuse = map(blurred, (self.embedding, self.head, self.fuse))
        for name in ("qkv", "out", "up", "down"):
            setattr(copy, name, [blurred(matrix) for matrix in getattr(self, name)])
        return copy


class Transformer:
    """Pre-norm decoder layers with rotary positions."""

    def __init__(
        self,
        weights: Weights,
        max_positions: int,
        window: int | None = None,
        side: SideWeights | None = None,
    ) -> None:
        """Prepare the rotation of positions `[0, max_positions)`; with a window, every second layer has it.

        `side` are the weights of what stores keep beside keys and values.
        """
        self.weights, self.shape, self.window, self.side = weights, weights.shape, window, side
        half = torch.arange(0, self.shape.head_dim, 2, dtype=DTYPE) / self.shape.head_dim
        angles = torch.arange(max_positions, dtype=DTYPE)[:, None] / ROPE_BASE**half
        self._rotation = torch.polar(torch.ones_like(angles), angles)

    def embed(self, tokens: Tensor, features: Tensor | None = None) -> Tensor:
        """Input rows `[B, T, hidden]`; a draft model also takes the feature of the position before (EAGLE)."""
        rows = self.weights.embedding[tokens]
        return rows if features is None else rows + features @ self.weights.fuse

    def forward(self, x: Tensor, where: Addresses, store: KVStore) -> Tensor:
        """Write the new rows' keys and values, attend through the store, return features `[B, T, hidden]`."""
        for layer in range(self.shape.layers):
            x = x + self._attend(_norm(x), layer, where, store)
            inner = torch.nn.functional.silu(_norm(x) @ self.weights.up[layer])
            x = x + inner @ self.weights.down[layer]
        return _norm(x)

    def logits(self, features: Tensor) -> Tensor:
        """`[..., vocab]`."""
        return features @ self.weights.head

    def _attend(self, x: Tensor, layer: int, where: Addresses, store: KVStore) -> Tensor:
        batch, rows, _ = x.shape
        heads = (batch, rows, 3, self.shape.heads, self.shape.head_dim)
        q, k, v = (x @ self.weights.qkv[layer]).view(heads).unbind(2)
        turn = self._rotation[where.positions][:, :, None]
        q, k = _rotate(q, turn), _rotate(k, turn)
        store.write(layer, where.slots.flatten(), k.flatten(0, 1), v.flatten(0, 1))
        keys, values = store.read(layer, where.context)
        sees = where.within(self.window) if self.window and windowed(layer) else where.mask
        if self.side and self.side.indexer and layer == INDEXED_LAYER:
            sees = self._chosen(x, turn, where, store)
        if (entries := store.beside(layer, x, where)) is not None:
            more = entries.values.view(batch, -1, self.shape.heads, self.shape.head_dim)
            keys, values = torch.cat((keys, more), 1), torch.cat((values, more), 1)
            sees = torch.cat((sees, entries.mask), 2)
        scores = torch.einsum("bthd,bchd->bhtc", q, keys) / math.sqrt(self.shape.head_dim)
        weights = scores.masked_fill(~sees[:, None], -math.inf).softmax(-1)
        mixed = torch.einsum("bhtc,bchd->bthd", weights, values)
        return mixed.flatten(2) @ self.weights.out[layer]

    def _chosen(self, x: Tensor, turn: Tensor, where: Addresses, store: KVStore) -> Tensor:
        """`[B, T, C]` which of its context each row attends to, by the indexer."""
        assert self.side and self.side.indexer
        queries, keys = (_rotate(part[:, :, None], turn)[:, :, 0] for part in self.side.indexer.project(x))
        return self.side.indexer.choose(queries, store.index, keys, where)


def _norm(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


def _rotate(x: Tensor, turn: Tensor) -> Tensor:
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turn).flatten(-2)
