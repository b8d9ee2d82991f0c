"""Sliding-window layers: each slot of the full pool has a peer in a smaller pool while it lies in the window.

A grant gives both, and the engine's `full_to_swa_index_mapping` names the peer. A free clears the peers at once, even
within a free group; what leaves the window loses its peer and keeps its slot.
"""

from __future__ import annotations

from typing import Any

from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.staging import Derived, Staged, stage


def record_peers(scene: Scene, slots: Any) -> None:
    """What the mapping says of slots that were granted, [n] on the device."""
    mapping: Any = getattr(scene.engine.allocator, "full_to_swa_index_mapping", None)
    if mapping is None or not slots.numel():
        return
    peers = stage(mapping[slots.long()])
    scene.journal.emit("swa_map", full_slots=stage(slots), swa_slots=peers)


def record_cleared(scene: Scene, slots: Staged, page_size: int) -> None:
    """Slots that lose their peers: the whole pages of those that are named."""

    def pages() -> Any:
        import numpy as np

        first = np.unique(slots.resolve() // page_size) * page_size
        return (first[:, None] + np.arange(page_size)).reshape(-1).astype(np.int64)

    def zeros() -> Any:
        return pages() * 0

    full = Derived(pages, slots.ready)
    scene.journal.emit("swa_map", full_slots=full, swa_slots=Derived(zeros, slots.ready))
