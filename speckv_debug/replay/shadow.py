"""A KV cache that holds, instead of keys and values, the identity of what was written: moved by the move kernel."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from speckv_debug.replay.ragged import Int64s

IDENTITY = ("request", "epoch", "position", "token", "version")
"""Columns of an identity; `version` numbers the rows that all forwards of a recording write, in their order."""
VERSION = IDENTITY.index("version")
UNWRITTEN = -1
"""The version of a slot that nothing was written to."""


class ShadowCache:
    """Identities by slot, int64 `[slots, 5]`, on one device.

    Args:
        slots: Slots of the cache.
        device: `cpu`, or `cuda` where there is a GPU.
    """

    def __init__(self, slots: int, device: str = "cpu") -> None:
        import torch

        self.device = device
        self._identities = torch.full(
            (max(slots, 1), len(IDENTITY)), UNWRITTEN, dtype=torch.int64, device=device
        )

    def write(self, slots: Int64s, identities: Int64s, *, distinct: bool = False) -> None:
        """Write identities `[n, 5]` to slots `[n]`; of several to one slot the last wins, `distinct` says there are none."""
        if not distinct:
            slots, last = np.unique(slots[::-1], return_index=True)
            identities = identities[::-1][last]
        self._identities[self._tensor(slots)] = self._tensor(identities)

    def move(self, targets: Int64s, sources: Int64s) -> None:
        """`kernels.move.move_slots`: copy slots `sources` `[n]` onto slots `targets` `[n]`, all read before any is written."""
        from speckv_debug.kernels.move import move_slots

        move_slots(self._buffers, self._tensor(targets), self._tensor(sources))

    def read(self, slots: Int64s) -> Int64s:
        """Identities `[n, 5]` at slots `[n]`."""
        found: Int64s = self._identities[self._tensor(slots)].cpu().numpy()
        return found

    def versions(self, slots: Int64s) -> Int64s:
        """The last column of `read`, `[n]`."""
        found: Int64s = self._identities[self._tensor(slots), VERSION].cpu().numpy()
        return found

    @cached_property
    def _buffers(self) -> Any:
        from speckv_debug.kernels.slots import SlotBuffers, row_view

        return SlotBuffers([row_view(self._identities)])

    def _tensor(self, array: Int64s) -> Any:
        import torch

        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)
