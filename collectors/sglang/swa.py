"""Sliding-window layers: each slot of the full pool has a peer in a smaller pool while it lies in the window.

A grant gives both, and the engine's `full_to_swa_index_mapping` names the peer. A free clears the peers, even within a
free group (0.5.21 and later; before, at the group's end); what leaves the window loses its peer and keeps its slot.
The mapping is read back behind each of them: what is recorded is what it says, not what it should.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.staging import Load, stage, stage_all
from speckv_debug.recording.blocks import Cut


def record_peers(scene: Scene, slots: Any) -> None:
    """What the mapping says of slots that were granted, or of which the tree took the peers, [n] on the device."""
    mapping: Any = getattr(scene.engine.allocator, "full_to_swa_index_mapping", None)
    if mapping is None or not slots.numel():
        return
    peers = stage(mapping[slots.long()])
    scene.journal.emit("swa_map", full_slots=stage(slots), swa_slots=peers)


def record_pages_peers(scene: Scene, slots: Any) -> None:
    """What the mapping says of the whole pages of slots that were freed or left the window, [n] on the device.

    Pages are looked at by the largest peer that is left in them: to list each page once would be to wait for the device.
    """
    size = scene.engine.page_size
    if size == 1:
        return record_peers(scene, slots)
    mapping: Any = scene.engine.allocator.full_to_swa_index_mapping
    slots = slots.long()
    worst, at = mapping[: (mapping.numel() - 1) // size * size].view(-1, size).max(1)
    pages = slots // size
    load, places = stage_all((slots, mapping[slots], worst[pages], pages * size + at[pages]))
    scene.journal.defer("swa_map", 1, load, _of_pages, load, places, size)


def _of_pages(load: Load, places: Sequence[int], size: int) -> dict[str, Any]:
    """The columns of `swa_map`: of a page that holds a peer yet, the slots that were named and one that has it."""
    slots, peers, worst, at = (load.values(place) for place in places)
    empty = np.unique(slots[worst == 0] // size) * size
    cleared = (empty[:, None] + np.arange(size)).reshape(-1)
    left = worst != 0
    full = np.concatenate((cleared, slots[left], at[left]))
    swa = np.concatenate((np.zeros_like(cleared), peers[left], worst[left]))
    full, first = np.unique(full, return_index=True)
    return {"full_slots": Cut(full, len(full)), "swa_slots": Cut(swa[first], len(full))}
