"""Lives of request rows: from allocation to end, each with its part of req_to_token.

What is known of a life lies in arrays over all lives, so that compiled code reads and writes the same state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from speckv_debug.replay.ledger_book import PageBook
from speckv_debug.replay.ragged import Int64s

WIDEST = 1 << 22
"""Positions followed in one row; an entry beyond is no table that an engine has."""
ROWS = 1 << 16
"""Request rows whose latest life compiled code finds; lives of rows beyond are found in a dictionary."""
FIELDS = (
    "row", "epoch", "alive", "saved", "complete", "named", "stale", "extent", "base", "room",
    "committed", "allocated", "tail", "trim_to", "last", "inherits", "told",
)  # fmt: skip
(
    ROW, EPOCH, ALIVE, SAVED, COMPLETE, NAMED, STALE, EXTENT, BASE, ROOM,
    COMMITTED, ALLOCATED, TAIL, TRIM_TO, LAST, INHERITS, TOLD,
) = range(len(FIELDS))  # fmt: skip
SMALLEST, USED = 6, 40
"""Binary logarithm of the fewest table entries that a life takes; place in `TenureStore.spare` behind those of the sizes."""
NOTHING = np.empty(0, dtype=np.int64)


class TenureStore:
    """The arrays behind all tenures.

    Attributes:
        numbers: int64[lives, FIELDS].
        slots, pages: int64, the table entries of all lives; those of one lie at `[base, base + room)`.
        before: int32, for each event that gives pages to a life, the one before it, -1 if none; `LAST` is the latest.
        latest: int32, the latest life of each of the first request rows, -1 if none.
        spare: int64, for each binary logarithm of a size where in `slots` a stretch of it begins that nobody uses, -1
            if none, and there the next one; at `USED` how many entries were ever taken.
    """

    def __init__(self, events: int) -> None:
        self.numbers = np.zeros((64, len(FIELDS)), dtype=np.int64)
        self.slots, self.pages = (np.full(1024, -1, dtype=np.int64) for _ in range(2))
        self.before = np.full(events, -1, dtype=np.int32)
        self.latest = np.full(ROWS, -1, dtype=np.int32)
        self.spare = np.full(USED + 1, -1, dtype=np.int64)
        self.spare[USED] = 0

    def add(self, id: int) -> None:
        """Room for one more life."""
        if id >= len(self.numbers):
            self.numbers = np.concatenate((self.numbers, np.zeros_like(self.numbers)))

    def take(self, room: int) -> int:
        """A stretch of so many table entries, a power of two; all are -1."""
        size = room.bit_length() - 1
        if (base := int(self.spare[size])) >= 0:
            self.spare[size], self.slots[base] = self.slots[base], -1
            return base
        base = int(self.spare[USED])
        self.spare[USED] = used = base + room
        if used > len(self.slots):
            more = np.full(max(used, 2 * len(self.slots)) - len(self.slots), -1, dtype=np.int64)
            self.slots, self.pages = np.concatenate((self.slots, more)), np.concatenate((self.pages, more))
        return base

    def give(self, base: int, room: int) -> None:
        """The stretch is not used any more."""
        if room:
            size = room.bit_length() - 1
            self.slots[base : base + room] = self.pages[base : base + room] = -1
            self.slots[base], self.spare[size] = self.spare[size], base


class _Number:
    """An integer of `TenureStore.numbers` as an attribute."""

    def __init__(self, at: int) -> None:
        self._at = at

    def __get__(self, tenure: Tenure, owner: type[Tenure]) -> int:
        return int(tenure.store.numbers[tenure.id, self._at])

    def __set__(self, tenure: Tenure, value: int) -> None:
        tenure.store.numbers[tenure.id, self._at] = value


class _Flag(_Number):
    """The same as True or False."""

    def __get__(self, tenure: Tenure, owner: type[Tenure]) -> bool:
        return bool(tenure.store.numbers[tenure.id, self._at])


class Tenure:
    """A request row and epoch.

    Attributes:
        alive: The request runs: its row entries are references.
        saved: A session keeps the row until it is restored.
        complete: Every event since the row was allocated is in the recording.
        extent: Positions `[0, extent)` are in use.
        stale: Pages that went to the free list while the row named them.
        committed, allocated: The host's lengths as last reported, -1 if never.
        tail: Where the free of its tail has to start, -1 before a release; live positions of a trim end there.
        trim_to: Length that a session trim keeps, -1 if none is under way.
    """

    __slots__ = ("_inherited", "_request", "_stale", "id", "store")
    row, epoch, extent = _Number(ROW), _Number(EPOCH), _Number(EXTENT)
    alive, saved, complete = _Flag(ALIVE), _Flag(SAVED), _Flag(COMPLETE)
    committed, allocated = _Number(COMMITTED), _Number(ALLOCATED)
    tail, trim_to = _Number(TAIL), _Number(TRIM_TO)
    _base, room, last = _Number(BASE), _Number(ROOM), _Number(LAST)

    def __init__(
        self, store: TenureStore, id: int, row: int, epoch: int, request: str | None, complete: bool
    ) -> None:
        store.add(id)
        store.numbers[id] = 0
        self._set_up(store, id, request)
        self.row, self.epoch, self.request = row, epoch, request
        self.alive, self.complete = True, complete
        self.committed = self.allocated = self.tail = self.trim_to = self.last = -1

    def _set_up(self, store: TenureStore, id: int, request: str | None) -> None:
        self.store, self.id, self._request = store, id, request
        self._stale: frozenset[int] = frozenset()
        self._inherited = NOTHING

    @classmethod
    def begun(cls, store: TenureStore, id: int, request: str | None) -> Tenure:
        """A life whose numbers are in the store already."""
        tenure = cls.__new__(cls)
        tenure._set_up(store, id, request)
        return tenure

    @property
    def request(self) -> str | None:
        """The engine's name of the request, None if no event has said it."""
        return self._request

    @request.setter
    def request(self, name: str | None) -> None:
        self._request = name
        self.store.numbers[self.id, NAMED] = name is not None

    @property
    def inherited(self) -> Int64s:
        """Pages of the session that it goes on with."""
        return self._inherited

    @inherited.setter
    def inherited(self, pages: Int64s) -> None:
        self._inherited = pages
        self.store.numbers[self.id, INHERITS] = len(pages) > 0

    @property
    def stale(self) -> frozenset[int]:
        """Pages that went to the free list while the row named them."""
        return self._stale

    @stale.setter
    def stale(self, pages: Iterable[int]) -> None:
        self._stale = frozenset(pages)
        self.store.numbers[self.id, STALE] = bool(self._stale)

    @property
    def slots(self) -> Int64s:
        """Slot of each position, -1 where never written."""
        return self.store.slots[self._base : self._base + self.room]

    @property
    def pages(self) -> Int64s:
        """Page of each position, -1 where never written."""
        return self.store.pages[self._base : self._base + self.room]

    @property
    def entries(self) -> Int64s:
        """Page of each position in use."""
        return self.pages[: self.extent]

    def write(self, book: PageBook, start: int, slots: Int64s, pages: Int64s) -> None:
        """`row[start:start+n] = slots`; references follow while the request lives."""
        end = start + len(slots)
        self.make_room(end)
        if self.alive:
            book.ref(self.pages[start : min(end, self.extent)], -1)
            book.ref(pages, 1)
        self.slots[start:end], self.pages[start:end] = slots, pages
        self.extent = max(self.extent, end)

    def trim(self, book: PageBook, length: int) -> None:
        """Entries from `length` on are stale from now on."""
        length, extent = max(length, 0), self.extent
        if length >= extent:
            return
        if self.alive:
            book.ref(self.pages[length:extent], -1)
        self.slots[length:extent] = self.pages[length:extent] = -1
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
        self.stale = ()

    def revive(self, book: PageBook) -> None:
        """A saved row runs again."""
        self.alive, self.saved, self.trim_to = True, False, -1
        book.ref(self.entries, 1)

    def forget(self, complete: bool = False) -> None:
        """What the row names is unknown from here on (references are reset with the book)."""
        self.store.give(self._base, self.room)
        self._base = self.room = self.extent = 0
        self.complete, self.last, self.inherited, self.stale = complete, -1, NOTHING, ()

    def positions(self, pages: Int64s) -> Int64s:
        """Positions in use that lie in these pages."""
        return np.flatnonzero(np.isin(self.entries, pages)).astype(np.int64)

    def mend(self) -> bool:
        """Forget stale pages that the row names no more; whether any are left."""
        if self.stale:
            self.stale = self.stale.intersection(
                self.pages[self.positions(np.array(list(self.stale)))].tolist()
            )
        return bool(self.stale)

    def was_given(self, event: int) -> None:
        """An event granted it pages, or wrote them into its row."""
        self.store.before[event] = self.last
        self.last = event

    def given(self) -> Iterator[int]:
        """The events that gave it pages, the latest first."""
        event = self.last
        while event >= 0:
            yield event
            event = int(self.store.before[event])

    def make_room(self, end: int) -> None:
        """Have entries for the positions before `end`."""
        room = self.room
        if end > room:
            wanted = 1 << max(SMALLEST, (end - 1).bit_length())
            base = self.store.take(wanted)
            self.store.slots[base : base + room], self.store.pages[base : base + room] = (
                self.slots,
                self.pages,
            )
            self.store.give(self._base, room)
            self._base, self.room = base, wanted
