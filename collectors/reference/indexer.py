"""An indexer: a small key of each position says which positions a layer attends to (DeepSeek's sparse attention).

Its keys lie by the slots of the main pool, in a pool of their own, and have to be moved with them.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from speckv_debug.collectors.reference.model import DTYPE, Addresses
from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.pool import fingerprint_rows
from speckv_debug.kernels.move import move_rows

POOL, COMPONENT = "indexer", "index_key"


class Indexer:
    """Weights, drawn from a seed: a query and a key a row, and how many positions a row attends to."""

    def __init__(self, hidden: int, width: int, count: int, seed: int) -> None:
        """Two of the same seed are equal."""
        draw, scale = torch.Generator().manual_seed(seed), 1 / math.sqrt(hidden)
        self.width, self.count = width, count
        self._queries = torch.randn(hidden, width, generator=draw, dtype=DTYPE) * scale
        self._keys = torch.randn(hidden, width, generator=draw, dtype=DTYPE) * scale

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and keys `[B, T, width]` of normed inputs `[B, T, hidden]`, before the rotation."""
        return x @ self._queries, x @ self._keys

    def choose(self, queries: Tensor, memory: Tensor, keys: Tensor, where: Addresses) -> Tensor:
        """Store keys `[B, T, width]` in `memory` `[slots, width]`; `[B, T, C]` which of its context each row attends to."""
        memory[where.slots.flatten()] = keys.flatten(0, 1)
        scores = torch.einsum("btd,bcd->btc", queries, memory[where.context])
        best = scores.masked_fill(~where.mask, -math.inf).topk(min(self.count, scores.shape[-1])).indices
        return (
            torch.zeros_like(where.mask).scatter(-1, best, torch.ones_like(best, dtype=torch.bool))
            & where.mask
        )


class IndexPool:
    """The keys of a paged pool."""

    def __init__(self, size: int, width: int, observer: Observer) -> None:
        """Make room for slots `[0, size)`; a slot beyond them lands behind, as on the device."""
        self.memory, self._observer = torch.zeros(2 * size, width, dtype=DTYPE), observer

    def move(self, targets: Tensor, sources: Tensor) -> None:
        """`key[targets] <- key[sources]`, as the main pool's mover does with keys and values."""
        before = fingerprint_rows(self.memory[sources])
        move_rows(self.memory, targets, sources)
        self._observer.emit(
            "move",
            pool=POOL,
            target_source="window",
            src=sources.tolist(),
            tgt=targets.tolist(),
            components=[COMPONENT],
            caller="accept",
            src_before=before,
            tgt_after=fingerprint_rows(self.memory[targets]),
        )
