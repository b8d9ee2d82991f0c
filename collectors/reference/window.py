"""Sliding-window layers: each slot has a peer in a pool of their own while it lies in the window (SGLang's SWA allocator)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from speckv_debug.collectors.reference.config import ModelShape
from speckv_debug.collectors.reference.model import windowed
from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.pool import KVPool
from speckv_debug.collectors.reference.request import Request

GROUP = "swa"
"""The window's pool, and the group of layers that use it."""


class WindowPeers:
    """The mapping full → window pool and the window pool's free pages.

    Both pools page in step: a page of slots has one page of peers. Page 0 is padding, and 0 is no peer. A page that was
    given back last is handed out first, so that whoever still reads it finds another's KV.
    """

    def __init__(self, slots: int, page_size: int, observer: Observer) -> None:
        """All pages are free, no slot has a peer."""
        self.slots, self.page_size, self._observer = slots, page_size, observer
        self.mapping = torch.zeros(slots + page_size, dtype=torch.int64)
        self.free_pages = list(range(slots // page_size, 0, -1))
        self._pages: dict[int, int] = {}
        self._queued: list[int] = []

    @property
    def available(self) -> int:
        """Slots in free pages."""
        return len(self.free_pages) * self.page_size

    def grant(self, slots: Sequence[int], request: Request, reason: str) -> None:
        """Give peers to slots that were just granted."""
        peers = [
            self._page(slot // self.page_size) * self.page_size + slot % self.page_size for slot in slots
        ]
        self._observer.emit(
            "alloc",
            pool=GROUP,
            slots=peers,
            reason=reason,
            site="window.py:grant",
            granted=True,
            **request.identity,
        )
        self.map(list(slots), peers)

    def _page(self, page: int) -> int:
        """The page of peers of a page of slots, a new one if it has none."""
        if page not in self._pages:
            self._pages[page] = self.free_pages.pop()
        return self._pages[page]

    def map(self, slots: list[int], peers: list[int]) -> None:
        """Each slot gets its peer, 0 for none."""
        self.mapping[slots] = torch.tensor(peers)
        self._observer.emit("swa_map", full_slots=slots, swa_slots=peers)

    def of(self, slots: Sequence[int]) -> list[int]:
        """The peer of each slot, 0 for none."""
        peers: list[int] = self.mapping[list(slots)].tolist()
        return peers

    def give_back(
        self, slots: Sequence[int], reason: str, *, request: Request | None, group: int | None, site: str
    ) -> None:
        """Take the peers of the pages of `slots`; they can be granted again at once, or at the end of the group."""
        pages = sorted({slot // self.page_size for slot in slots})
        whole = [page * self.page_size + offset for page in pages for offset in range(self.page_size)]
        held = [slot for slot, peer in zip(whole, self.of(whole), strict=True) if peer]
        if not held:
            return
        peers = self.of(held)
        who = request.identity if request else {"request": None, "row": None, "epoch": None}
        self._observer.emit(
            "free", pool=GROUP, slots=peers, reason=reason, group=group, site=site, form="index", **who
        )
        self.map(whole, [0] * len(whole))
        for page in pages:
            self._pages.pop(page, None)
        self._queued += dict.fromkeys(peer // self.page_size for peer in peers)
        if group is None:
            self.settle()

    def settle(self) -> None:
        """What was given back in a group is free now."""
        self.free_pages += self._queued
        self._queued = []

    def hand_over(self, kept: Sequence[int], incoming: Sequence[int]) -> None:
        """Slots that stay take the peers of those that go, where they have none (SGLang `RecoverEvictedSWA`)."""
        pairs = zip(kept, self.of(kept), incoming, self.of(incoming), strict=True)
        moved = [
            (slot, other, peer) for slot, own, other, peer in pairs if not own and peer and slot != other
        ]
        if not moved:
            return
        stay, go, peers = (list(column) for column in zip(*moved, strict=True))
        self.map(go + stay, [0] * len(go) + peers)
        for slot, other in zip(stay, go, strict=True):
            if other // self.page_size in self._pages:
                self._pages[slot // self.page_size] = self._pages.pop(other // self.page_size)

    def whole(self, slots: Sequence[int], window: int) -> bool:
        """Whether the last `window` of these slots have peers."""
        return all(self.of(slots[-window:])) if slots else True


class HybridPool(KVPool):
    """A pool whose sliding-window layers lie where the peers of a slot say.

    Attributes:
        written: `[n]` slots of the window's pool that the last forward wrote to.
    """

    def __init__(
        self, name: str, size: int, shape: ModelShape, observer: Observer, peers: WindowPeers
    ) -> None:
        """The window layers have as many slots as the others."""
        super().__init__(name, size, shape, observer)
        self.peers, self.written = peers, torch.zeros(0, dtype=torch.int64)

    def write(self, layer: int, slots: Tensor, keys: Tensor, values: Tensor) -> None:
        """Store `[n, heads, head_dim]` at `slots` `[n]` of a layer, or at their peers."""
        if not windowed(layer):
            return super().write(layer, slots, keys, values)
        self.written = self.looked_up(slots)
        at = super().address(layer, self.written)
        self.keys[at], self.values[at] = keys, values

    def move_layers(
        self, layers: Sequence[int], pairs: tuple[Tensor, Tensor], told: Mapping[str, Any], *, chunk: int
    ) -> None:
        """The layers with all positions by the slots, then those of the window by the peers (SGLang `SWAKVPool`)."""
        super().move_layers([layer for layer in layers if not windowed(layer)], pairs, told, chunk=chunk)
        self.move_window([layer for layer in layers if windowed(layer)], pairs, told, chunk=chunk)

    def move_window(
        self, layers: Sequence[int], pairs: tuple[Tensor, Tensor], told: Mapping[str, Any], *, chunk: int
    ) -> None:
        """Bring the peers of sources to the peers of targets: a call of its own, of the window's pool."""
        tgt, src = (self._peers_of(slots).tolist() for slots in pairs)
        peers = {"pool": GROUP, "src": src, "tgt": tgt}
        super().move_layers(layers, pairs, {**told, **peers}, chunk=chunk)

    def looked_up(self, slots: Tensor) -> Tensor:
        """Where a forward's rows go in the window's pool (SGLang `translate_loc_from_full_to_swa`)."""
        return self._peers_of(slots)

    def _peers_of(self, slots: Tensor) -> Tensor:
        return self.peers.mapping[slots.clamp(max=len(self.peers.mapping) - 1)]

    def address(self, layer: int, slots: Tensor) -> Tensor:
        """Where the slots of a layer lie; one without a peer reads and writes the padding."""
        return super().address(layer, self._peers_of(slots) if windowed(layer) else slots)
