"""What a recording has to tell beside its numbering: who wrote it, whose pages are granted, what became of each verify."""

from __future__ import annotations

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import Int64s, Mask, mask
from speckv_debug.replay.writes import of_drafter, of_first_row, padding_rows

ADAPTERS = ("sglang", "reference")
"""Collectors whose events this program knows; a release's tier may stand behind the name."""


class Origin:
    """One instance a process with events: the format and the adapter that wrote them."""

    def __init__(self, info: Process, *, formatted: bool, events: bool) -> None:
        self._name, self.formatted = info.adapter, formatted
        self.seq = np.zeros(int(events), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.seq)

    def place(self, index: int) -> Place:
        """The process as a whole."""
        return Place(seq=0)

    @property
    def named(self) -> bool:
        """Whether the process says which adapter wrote it."""
        return bool(self._name)

    @property
    def known(self) -> bool:
        """Whether it is one whose events this program knows."""
        return (self._name or "").partition(" (")[0] in ADAPTERS


class Loose:
    """One instance an event that lacks what belongs to it."""

    def __init__(self, seq: Int64s) -> None:
        self.seq = seq

    def __len__(self) -> int:
        return len(self.seq)

    def place(self, index: int) -> Place:
        """Where the event stands."""
        return Place(seq=int(self.seq[index]))


def poolless(alloc: Columns, info: Process) -> Int64s:
    """`seq` of the grants of a pool that the process does not declare, or of which no kind is known."""
    declared, pools = info.declared_pools, alloc.texts("pool")
    strange = ~pools.known & (info.main_pool not in declared)
    strange |= pools.equal(*(name for name in pools.names if name not in declared))
    return alloc.ints("seq")[strange]


def unanswered(forward: Columns, accept: Int64s, info: Process) -> Int64s:
    """`seq` of the target's verifies of requests of which the recording has no accept.

    Args:
        accept: For each row of `forward` the accept of its step and request row, -1 if there is none.
    """
    verifying: Mask = forward.texts("mode").equal("target_verify") & (accept < 0)
    if not verifying.any():
        return np.empty(0, dtype=np.int64)
    pads = padding_rows(forward) | of_first_row(forward)
    return forward.ints("seq")[mask(verifying & ~pads & ~of_drafter(forward, info))]
