"""Frees of full slots against the mapping: a slot that is back in the free list has no peer any more."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.free_times import FreeTimes
from speckv_debug.replay.page_turns import PageTurns
from speckv_debug.replay.peer_ops import GetColumns, PeerEntries
from speckv_debug.replay.ragged import Int64s, Mask, mask
from speckv_debug.replay.searching import NEVER

LAUNCHES = ("forward", "accept", "pool_stat")


class PeerFrees:
    """One entry a slot that some frees return to the main pool.

    A free is settled at the first launch, or total of a pool, behind it, or behind the end of the group that it waits in.

    Attributes:
        owners: Which of the frees each slot is of.
        slots: Full slots, int64.
        settled: `seq` at which each free is settled, NEVER if the recording ends before; int64[frees].
    """

    def __init__(self, columns: GetColumns, rows: Int64s, entries: PeerEntries, turns: PageTurns) -> None:
        """`rows` of `free`; `turns` are those of pages, those of the main pool numbered 0."""
        free: Columns = columns("free")
        named = free.lists("slots").take(rows)
        self.owners, self.slots = named.owners, named.values
        self._entries, self._turns = entries, turns
        self._seq = free.ints("seq")[rows]
        self._effect = FreeTimes(lambda: columns("free_group")).effects(free)[rows]
        launches = np.sort(np.concatenate([columns(name).ints("seq") for name in LAUNCHES]))
        self.settled = np.append(launches, NEVER)[np.searchsorted(launches, self._effect, side="right")]

    def mapped(self, page_size: int) -> Mask:
        """Slots that have the peer of before their free once it is settled, and that nobody was granted until then."""
        until, since = self.settled[self.owners], self._effect[self.owners]
        entry = self._entries.before(self.slots, until)
        peer = np.append(self._entries.swa, 0)[entry]
        pool = np.zeros(len(self.slots), dtype=np.int64)
        again = self._turns.behind(pool, self.slots // page_size, since)
        earlier = np.append(self._entries.seq, NEVER)[entry] < self._seq[self.owners]
        return mask(earlier & (peer != 0) & (again >= until))

    @cached_property
    def ends(self) -> Mask:
        """Slots whose free is not settled before the recording ends."""
        return mask(self.settled[self.owners] == NEVER)
