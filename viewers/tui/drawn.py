"""What one verify is drawn from, and those that were drawn last."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from speckv_debug.model.verify import VerifyStep
from speckv_debug.replay.verify_details import CompactedTensor

KEPT = 256
"""Verifies to which one comes back without reading, some hundred KiB."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A verify, and its tensors before and after compaction."""

    step: VerifyStep
    tensors: tuple[CompactedTensor, ...] = ()


class LastDrawn:
    """Index → what was drawn; the oldest goes first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Drawn] = OrderedDict()

    def get(self, index: int) -> Drawn | None:
        """What was drawn of it, None if that is too long ago or never was."""
        return self._kept.get(index)

    def keep(self, index: int, drawn: Drawn) -> None:
        """Remember it."""
        self._kept[index] = drawn
        self._kept.move_to_end(index)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
