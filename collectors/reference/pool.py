"""A pool's memory: keys and values of all layers, addressed by slot, and the mover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

import torch
from torch import Tensor

from speckv_debug.collectors.reference.config import ModelShape
from speckv_debug.collectors.reference.model import DTYPE, Addresses, Entries
from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.kernels.move import move_rows

COMPONENTS = ("k", "v")
"""What a pool holds of a token: keys and values."""


class KVPool:
    """Keys and values `[layers * size + guard, heads, head_dim]`, one layer behind the other.

    No address is checked, as on the device: a slot beyond the pool lands in the next layer.
    """

    def __init__(self, name: str, size: int, shape: ModelShape, observer: Observer) -> None:
        """Make room for slots `[0, size)` in each layer."""
        self.index = torch.zeros(0, 0, dtype=DTYPE)  # keys of an indexer: none
        self.name, self.size, self.layers, self._observer = name, size, shape.layers, observer
        memory = ((shape.layers + 1) * size, shape.heads, shape.head_dim)
        self.keys, self.values = torch.zeros(memory, dtype=DTYPE), torch.zeros(memory, dtype=DTYPE)

    def write(self, layer: int, slots: Tensor, keys: Tensor, values: Tensor) -> None:
        """Store `[n, heads, head_dim]` at `slots` `[n]` of a layer."""
        at = self.address(layer, slots)
        self.keys[at] = keys
        self.values[at] = values

    def read(self, layer: int, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values `[..., heads, head_dim]` at `slots` `[...]` of a layer."""
        at = self.address(layer, slots)
        return self.keys[at], self.values[at]

    def beside(self, layer: int, x: Tensor, where: Addresses) -> Entries | None:
        """Nothing but keys and values."""
        return None

    def address(self, layer: int, slots: Tensor) -> Tensor:
        """Where the slots of a layer lie in memory."""
        return slots + layer * self.size

    def move(
        self,
        targets: Tensor,
        sources: Tensor,
        *,
        caller: Literal["accept", "draft_tail"],
        target_source: Literal["table", "window"],
        chunk: int = 256,
        components: Sequence[str] = COMPONENTS,
    ) -> None:
        """`KV[targets] <- KV[sources]` in every layer (SGLang `move_kv_cache`), of the components named."""
        told = {"caller": caller, "target_source": target_source, "components": list(components)}
        self.move_layers(range(self.layers), (targets, sources), told | {"pool": self.name}, chunk=chunk)

    def move_layers(
        self, layers: Sequence[int], pairs: tuple[Tensor, Tensor], told: Mapping[str, Any], *, chunk: int
    ) -> None:
        """Move targets <- sources, `pairs` of `[n]`, in some layers, and say so; `told` are columns of the event.

        `told` may name other slots: those of a pool that the layers lie in.
        """
        targets, sources = pairs
        named = {"src": sources.tolist(), "tgt": targets.tolist(), **told}
        before = self.fingerprints(sources, layers)
        self.copy(targets, sources, layers=layers, chunk=chunk, components=named["components"])
        after = self.fingerprints(targets, layers)
        self._observer.emit("move", **named, src_before=before, tgt_after=after)

    def copy(
        self,
        targets: Tensor,
        sources: Tensor,
        *,
        layers: Sequence[int],
        chunk: int,
        components: Sequence[str],
    ) -> None:
        """Overwrite `targets` with `sources`, both `[n]`, in these layers."""
        memory = {"k": self.keys, "v": self.values}
        for layer in layers:
            at = (self.address(layer, targets), self.address(layer, sources))
            for component in components:
                move_rows(memory[component], *at, chunk=chunk)

    def content(self, slots: Tensor) -> Tensor:
        """Keys and values of all layers at `slots` `[n]`: `[n, layers, 2, heads, head_dim]`."""
        layers = [torch.stack(self.read(layer, slots), dim=1) for layer in range(self.layers)]
        return torch.stack(layers, dim=1)

    def fingerprints(self, slots: Tensor, layers: Sequence[int]) -> list[int]:
        """One number a slot, over its keys and values in these layers."""
        return fingerprint_rows(self.content(slots)[:, list(layers)].flatten(1))


def fingerprint_rows(rows: Tensor) -> list[int]:
    """One 64-bit number for the content of each of `rows` `[n, m]` (float64)."""
    factors = _odd_numbers(rows.shape[1])
    result: list[int] = (rows.contiguous().view(torch.int64) * factors).sum(-1).tolist()
    return result


@cache
def _odd_numbers(count: int) -> Tensor:
    draw = torch.Generator().manual_seed(count)
    return torch.randint(-(2**62), 2**62, (count,), generator=draw) * 2 + 1
