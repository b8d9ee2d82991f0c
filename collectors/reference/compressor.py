"""The arithmetic of a compressor: states of positions, and entries made of them; no memory, no addresses."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from speckv_debug.collectors.reference.compression import C4, C128, Compression
from speckv_debug.collectors.reference.config import ModelShape
from speckv_debug.collectors.reference.indexer import Indexer
from speckv_debug.collectors.reference.model import DTYPE

WEIGHT_GAIN = 3.0
ENTRY_GAIN = 1.5
C128_LAYER, RECURRENT_LAYER, C4_LAYER = 1, 2, 3
"""Layers of the target that have something beside keys and values; C4 and C128 are sliding-window layers."""


class Compressor:
    """Weights of one compressed layer, drawn from a seed."""

    def __init__(self, compression: Compression, hidden: int, seed: int) -> None:
        """Two of the same seed are equal."""
        self.compression, self.hidden = compression, hidden
        draw, wide = torch.Generator().manual_seed(seed), compression.parts * hidden
        scale = 1 / math.sqrt(hidden)
        self._brings = torch.randn(hidden, wide, generator=draw, dtype=DTYPE) * scale * ENTRY_GAIN
        self._weighs = torch.randn(hidden, wide, generator=draw, dtype=DTYPE) * scale * WEIGHT_GAIN
        self._bias = torch.randn(compression.window, hidden, generator=draw, dtype=DTYPE)

    @property
    def width(self) -> int:
        """Numbers a state has, both halves together."""
        return 2 * self.compression.parts * self.hidden

    def states(self, x: Tensor) -> Tensor:
        """`[..., width]` of normed inputs `[..., hidden]`."""
        return torch.cat((x @ self._brings, x @ self._weighs), -1)

    def entries(self, states: Tensor, offsets: Tensor, counts: Tensor) -> Tensor:
        """Entries `[..., hidden]` of states `[..., n, width]` that lie at `offsets` `[..., n]` of their windows.

        Only where `counts` `[..., n]`; one at least must.
        """
        halves = (*states.shape[:-1], 2, self.compression.parts, self.hidden)
        brings, weighs = states.reshape(halves).unbind(-3)
        part = self.compression.part(offsets)[..., None, None].expand(*offsets.shape, 1, self.hidden)
        bias = self._bias[offsets.clamp(0, self.compression.window - 1)]
        weights = (weighs.gather(-2, part)[..., 0, :] + bias).masked_fill(~counts[..., None], -math.inf)
        brought = brings.gather(-2, part)[..., 0, :].masked_fill(~counts[..., None], 0)
        made: Tensor = (weights.softmax(-2) * brought).sum(-2)
        return made


class Recurrence:
    """Weights of the recurrent layer: each position adds to a state that fades, `s = f * s + (1 - f) * u(x)`."""

    GAIN = 4.0

    def __init__(self, hidden: int, seed: int) -> None:
        """Two of the same seed are equal."""
        draw = torch.Generator().manual_seed(seed)
        self._adds = torch.randn(hidden, hidden, generator=draw, dtype=DTYPE) / math.sqrt(hidden)
        self._fades = 0.5 + 0.45 * torch.rand(hidden, generator=draw, dtype=DTYPE)

    def states(self, before: Tensor, x: Tensor, distance: Tensor, sees: Tensor) -> Tensor:
        """The state `[B, T, hidden]` behind each row.

        Args:
            before: `[B, hidden]` state that the block starts from.
            x: `[B, T, hidden]` normed inputs.
            distance: `[B, T]` of each row from the start of the block, 0-based.
            sees: `[B, T, T]` rows that each row continues, itself included.
        """
        apart = (distance[:, :, None] - distance[:, None]).clamp(min=0)
        share = self._fades ** apart[..., None] * (1 - self._fades) * sees[..., None]
        added = torch.einsum("btjh,bjh->bth", share, torch.tanh(x @ self._adds) * self.GAIN)
        return before[:, None] * self._fades ** (distance[..., None] + 1) + added


@dataclass(frozen=True, slots=True, kw_only=True)
class SideWeights:
    """Weights of all that a target has beside its keys and values; without `recurrence` no recurrent layer, without `indexer` all is attended to."""

    c4: Compressor
    c128: Compressor
    recurrence: Recurrence | None
    indexer: Indexer | None

    @classmethod
    def draw(cls, shape: ModelShape, seed: int, *, recurrent: bool, indexed: int | None) -> SideWeights:
        """Equal for equal seeds; with `indexed`, that many positions are chosen by an indexer."""
        hidden = shape.hidden
        recurrence = Recurrence(hidden, seed + 43) if recurrent else None
        return cls(
            c4=Compressor(C4, hidden, seed + 41),
            c128=Compressor(C128, hidden, seed + 42),
            recurrence=recurrence,
            indexer=Indexer(hidden, shape.head_dim, indexed, seed + 44) if indexed else None,
        )
