"""One life of a request row: from its allocation to its end, with its part of req_to_token."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.ledger_book import PageBook
from speckv_debug.replay.ragged import Int64s

WIDEST = 1 << 22
"""Positions followed in one row; an entry beyond is no table that an engine has."""


class Tenure:
    """A request row and epoch.

    Attributes:
        alive: The request runs: its row entries are references.
        saved: A session keeps the row until it is restored.
        complete: Every event since the row was allocated is in the recording.
        slots, pages: Slot and page of each position, int64, -1 where never written; `[0, extent)` is in use.
        ever: Pages that it was granted or had in its row, one array an event.
        stale: Pages that went to the free list while the row named them.
        committed, allocated: The host's lengths as last reported, -1 if never.
        tail: Where the free of its tail has to start, -1 before a release; live positions of a trim end there.
        trim_to: Length that a session trim keeps, -1 if none is under way.
    """

    __slots__ = (
        "alive", "allocated", "committed", "complete", "epoch", "ever", "extent", "id", "pages",
        "request", "row", "saved", "slots", "stale", "tail", "trim_to",
    )  # fmt: skip

    def __init__(self, id: int, row: int, epoch: int, request: str | None, complete: bool) -> None:
        self.id, self.row, self.epoch, self.request = id, row, epoch, request
        self.alive, self.saved, self.complete = True, False, complete
        self.slots = np.full(64, -1, dtype=np.int64)
        self.pages = np.full(64, -1, dtype=np.int64)
        self.extent = 0
        self.ever: list[Int64s] = []
        self.stale: set[int] = set()
        self.committed = self.allocated = self.tail = self.trim_to = -1

    @property
    def entries(self) -> Int64s:
        """Page of each position in use."""
        return self.pages[: self.extent]

    def write(self, book: PageBook, start: int, slots: Int64s, pages: Int64s) -> None:
        """`row[start:start+n] = slots`; references follow while the request lives."""
        end = start + len(slots)
        self._reach(end)
        if self.alive:
            book.ref(self.pages[start : min(end, self.extent)], -1)
            book.ref(pages, 1)
        self.slots[start:end], self.pages[start:end] = slots, pages
        self.extent = max(self.extent, end)

    def trim(self, book: PageBook, length: int) -> None:
        """Entries from `length` on are stale from now on."""
        length = max(length, 0)
        if length >= self.extent:
            return
        if self.alive:
            book.ref(self.pages[length : self.extent], -1)
        self.slots[length : self.extent] = self.pages[length : self.extent] = -1
        self.extent = length

    def drop(self, book: PageBook, slots: Int64s) -> None:
        """Entries that name these slots are stale from now on."""
        gone = np.flatnonzero(np.isin(self.slots[: self.extent], slots))
        if self.alive:
            book.ref(self.pages[gone], -1)
        self.slots[gone] = self.pages[gone] = -1

    def rest(self, book: PageBook) -> None:
        """The row's entries are references no more; they stay to be read."""
        if self.alive:
            book.ref(self.entries, -1)
        self.alive = False
        self.stale.clear()

    def revive(self, book: PageBook) -> None:
        """A saved row runs again."""
        self.alive, self.saved, self.trim_to = True, False, -1
        book.ref(self.entries, 1)

    def forget(self, complete: bool = False) -> None:
        """What the row names is unknown from here on (references are reset with the book)."""
        self.extent, self.complete = 0, complete
        self.pages[:] = self.slots[:] = -1
        self.ever, self.stale = [], set()

    def positions(self, pages: Int64s) -> Int64s:
        """Positions in use that lie in these pages."""
        return np.flatnonzero(np.isin(self.entries, pages)).astype(np.int64)

    def mend(self) -> bool:
        """Forget stale pages that the row names no more; whether any are left."""
        if self.stale:
            self.stale.intersection_update(self.pages[self.positions(np.array(list(self.stale)))].tolist())
        return bool(self.stale)

    def held(self) -> Int64s:
        """Every page that it ever held, ascending."""
        return np.unique(np.concatenate(self.ever)) if self.ever else np.empty(0, dtype=np.int64)

    def _reach(self, end: int) -> None:
        if end > len(self.pages):
            more = np.full(max(end, 2 * len(self.pages)) - len(self.pages), -1, dtype=np.int64)
            self.slots, self.pages = np.concatenate((self.slots, more)), np.concatenate((self.pages, more))
