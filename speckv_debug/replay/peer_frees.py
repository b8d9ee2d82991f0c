"""Frees against the mapping of peers: what is back in a free list, of either pool, is mapped no more."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.free_times import FreeTimes
from speckv_debug.replay.page_turns import PageTurns
from speckv_debug.replay.peer_ops import GetColumns, PeerEntries
from speckv_debug.replay.ragged import Int64s, Mask, mask
from speckv_debug.replay.ref_entries import Runs
from speckv_debug.replay.searching import NEVER, latest_with

LAUNCHES = ("forward", "accept", "pool_stat")


class PeerFrees:
    """One entry a page that some frees return to the main pool or to the window's: a paged pool takes back whole pages.

    A free is settled at the first launch, or total of a pool, behind it, or behind the end of the group that it waits in.

    Attributes:
        pool: Number of each free's pool, as in `turns`.
        owners: Which of the frees each page is of.
        pages: int64 each.
        settled: `seq` at which each free is settled, NEVER if the recording ends before; int64[frees].
    """

    def __init__(
        self,
        columns: GetColumns,
        rows: Int64s,
        pool: Int64s,
        entries: PeerEntries,
        turns: PageTurns,
        sizes: tuple[int, int],
    ) -> None:
        """`rows` of `free`; `sizes` are slots of a page of the main pool and of the window's."""
        free: Columns = columns("free")
        named = free.lists("slots").take(rows)
        self.pool, self._entries, self._turns, self._sizes = pool, entries, turns, sizes
        self.owners, self.pages = named.owners, named.values // np.array(sizes)[pool][named.owners]
        self._seq = free.ints("seq")[rows]
        self._effect = FreeTimes(lambda: columns("free_group")).effects(free)[rows]
        launches = np.sort(np.concatenate([columns(name).ints("seq") for name in LAUNCHES]))
        self.settled = np.append(launches, NEVER)[np.searchsorted(launches, self._effect, side="right")]

    @cached_property
    def mapped(self) -> Mask:
        """Pages with a mapping of before their free once it is settled, and that nobody was granted until then."""
        until, since = self.settled[self.owners], self._effect[self.owners]
        pool, own = self.pool[self.owners], self._seq[self.owners]
        again = self._turns.behind(pool, self.pages, since)
        held = np.zeros(len(self.pages), dtype=np.bool_)
        for number in range(len(self._sizes)):
            mine = pool == number
            held[mine] = self._holds_until(number, self.pages[mine], own[mine]) >= until[mine]
        return mask(held & (again >= until))

    def kept(self, free: int) -> Int64s:
        """Entries of the mapping that a free should have ended and that still hold once it is settled."""
        number = int(self.pool[free])
        pages = self.pages[(self.owners == free) & self.mapped]
        named = np.isin(self._pages_of(number), pages) & self._entries.maps
        since = self._entries.seq < self._seq[free]
        return np.flatnonzero(named & since & (self._entries.until >= self.settled[free]))

    @cached_property
    def ends(self) -> Mask:
        """Pages whose free is not settled before the recording ends."""
        return mask(self.settled[self.owners] == NEVER)

    def _pages_of(self, number: int) -> Int64s:
        slots = self._entries.swa if number else self._entries.full
        return slots // self._sizes[number]

    def _holds_until(self, number: int, pages: Int64s, seq: Int64s) -> Int64s:
        """How long the longest mapping of each page that was given before `seq` holds, -1 without one."""
        given = np.flatnonzero(self._entries.maps)
        page, told = self._pages_of(number)[given], self._entries.seq[given]
        longest = Runs(page).longest(self._entries.until[given])
        return np.append(longest, -1)[latest_with((page,), told, (pages,), seq)]
