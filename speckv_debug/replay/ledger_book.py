"""Who holds which page of one allocator: plain arrays, one entry a page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from speckv_debug.replay.ragged import Int64s, Mask

UNKNOWN, FREE, HELD = 0, 1, 2
TREE, SAVED = 3, 4
"""Places in `PageBook.counts` behind those of the states."""
NOBODY = -1
LONG_AGO = -2
"""Instead of the free that freed a page last: it is not among those that a window still knows."""


def lowest(states: npt.NDArray[np.int8]) -> int:
    """The smallest of some pages' states, `HELD` if there are none: whether any is unknown, or free."""
    return min(states.tobytes(), default=HELD) if len(states) < 64 else int(states.min())


@dataclass(slots=True)
class PageBook:
    """One namespace.

    Attributes:
        state: `UNKNOWN` (not seen since the recording began or lost events), `FREE` or `HELD`.
        owner: Tenure that the page was last granted to, `NOBODY` if none or handed on.
        tree: 1 while a node of the prefix tree holds the page.
        tree_at: Position of the page's first slot in the tree's sequences, -1 if unknown.
        locks: How many requests keep the node from eviction.
        session: Tenure that saved the page into a session, `NOBODY` if none.
        moving: Transfers that have begun and not ended.
        host: 1 of a page loaded back from the host, which a tree node holds without an insert.
        pending: Deferred free group in which the page waits, -1 if none.
        refs: Entries of live rows of req_to_token that lie in the page.
        freed_by: Row of the table `free` that freed it last, -1 if none, `LONG_AGO` if it is not known any more.
        counts: How many pages are in each state, how many the tree holds (`TREE`), and a session alone (`SAVED`).
    """

    pages: int
    paged: bool
    state: npt.NDArray[np.int8] = field(init=False)
    owner: npt.NDArray[np.int32] = field(init=False)
    tree: npt.NDArray[np.int8] = field(init=False)
    tree_at: Int64s = field(init=False)
    locks: npt.NDArray[np.int32] = field(init=False)
    session: npt.NDArray[np.int32] = field(init=False)
    moving: npt.NDArray[np.int32] = field(init=False)
    host: npt.NDArray[np.int8] = field(init=False)
    pending: Int64s = field(init=False)
    refs: npt.NDArray[np.int32] = field(init=False)
    freed_by: Int64s = field(init=False)
    counts: Int64s = field(init=False)

    def __post_init__(self) -> None:
        self.forget()

    def forget(self, state: int = UNKNOWN) -> None:
        """Put every page into one state, held by nobody."""
        n = self.pages
        self.state = np.full(n, state, dtype=np.int8)
        self.owner, self.session = np.full(n, NOBODY, np.int32), np.full(n, NOBODY, np.int32)
        self.tree, self.host = np.zeros(n, np.int8), np.zeros(n, np.int8)
        self.locks, self.moving, self.refs = (np.zeros(n, np.int32) for _ in range(3))
        self.tree_at, self.pending, self.freed_by = (np.full(n, -1, np.int64) for _ in range(3))
        self.counts = np.zeros(5, np.int64)
        self.counts[state] = n

    @contextmanager
    def changing(self, pages: Int64s) -> Iterator[None]:
        """Keep the counts right while the state or a lasting holder of these pages changes; any may repeat."""
        pages = np.unique(pages)
        self._count(pages, -1)
        yield
        self._count(pages, 1)

    def _count(self, pages: Int64s, by: int) -> None:
        tree = (self.tree[pages] | self.host[pages]) > 0
        self.counts[:TREE] += by * np.bincount(self.state[pages], minlength=TREE)
        self.counts[TREE] += by * np.count_nonzero(tree)
        self.counts[SAVED] += by * np.count_nonzero(~tree & (self.session[pages] != NOBODY))

    def grant(self, pages: Int64s, owner: int, *, host: bool) -> None:
        """The allocator hands pages out; a page that waited in a free group no longer does."""
        with self.changing(pages):
            self.state[pages] = HELD
            self.owner[pages] = owner
            self.tree[pages] = 0
            self.host[pages] = host
            self.pending[pages] = -1

    def take_back(self, pages: Int64s, free: int) -> None:
        """Pages go to the free list: every hold ends, entries of rows stay as they are."""
        with self.changing(pages):
            self.state[pages] = FREE
            self.owner[pages] = self.session[pages] = NOBODY
            self.tree[pages] = self.host[pages] = 0
            self.locks[pages] = self.moving[pages] = 0
            self.tree_at[pages] = self.pending[pages] = -1
            self.freed_by[pages] = free

    def put(self, pages: Int64s, state: int) -> None:
        """What is known of these pages, whoever holds them."""
        with self.changing(pages):
            self.state[pages] = state

    def disown(self, pages: Int64s) -> None:
        """Nothing is known of these pages any more (an allocation that the engine rolls back)."""
        self.put(pages, UNKNOWN)
        self.owner[pages] = NOBODY

    def ref(self, pages: Int64s, by: int) -> None:
        """Row entries appear (`by` 1) or go (-1); pages may repeat, -1 counts for nothing."""
        np.add.at(self.refs, pages[pages >= 0], by)

    def unheld(self, pages: Int64s, owner: int) -> Mask:
        """Which pages are still with `owner`, known to be out of the free list, and held by nothing that lives."""
        return self.unkept(pages) & np.asarray(self.owner[pages] == owner, dtype=np.bool_)

    def unkept(self, pages: Int64s) -> Mask:
        """Which pages are known to be out of the free list, and held by nobody but their owner."""
        return np.asarray((self.state[pages] == HELD) & ~self._kept(pages), dtype=np.bool_)

    def untold(self, pages: Int64s) -> Mask:
        """Which pages may be out of the free list or in it, and have no holder that is known."""
        return np.asarray((self.state[pages] == UNKNOWN) & ~self._kept(pages), dtype=np.bool_)

    def _kept(self, pages: Int64s) -> Mask:
        kept = (self.tree[pages] | self.host[pages]) > 0
        kept |= (self.session[pages] != NOBODY) | (self.moving[pages] > 0) | (self.refs[pages] > 0)
        return np.asarray(kept | (self.pending[pages] >= 0), dtype=np.bool_)
