"""Pools beside the main one: forwards that write to them, their settled points, and what ended requests leave there.

The state of their pages changes at grants and frees of theirs alone. What reads it waits until the next of these, or until
events are lost, and is judged together then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.replay.ledger_book import FREE, HELD, UNKNOWN, PageBook
from speckv_debug.replay.ledger_facts import FAIL, PASS, SKIP, Broken, End
from speckv_debug.replay.ledger_totals import IN_GROUP
from speckv_debug.replay.ledger_writers import IN_FLIGHT, in_flight
from speckv_debug.replay.namespaces import COUNTED
from speckv_debug.replay.ragged import NULL, Int64s
from speckv_debug.replay.writes import padding_rows

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger

UNPAGED = "the pages of the pool can't be followed: no page size or no grants"
BESIDE = "holders are followed in the main pool only"
UNMAPPED = "which slots of the window's pool are peers is not known"
UNGRANTED = "a page of the pool was not seen granted"


class BesidePools:
    """What waits to be judged of the pools beside the main one, in the order of `seq`.

    Attributes:
        stats: Rows of pool_stat that are of such a pool.
        free: By pool_stat, the slots that the events leave free in its pool.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.take()

    def take(self) -> None:
        """Go on with the ledger's events."""
        events, main = self._ledger.events, self._ledger.namespaces.main
        forward, stats = events.slots["forward"], events.rows["pool_stat"].columns
        idle = padding_rows(forward.columns)
        self._forwards = np.flatnonzero((forward.namespace != main) & ~idle & (forward.listed.lengths > 0))
        pools = stats.texts("pool")
        self._spaces = events.counted
        self.stats = np.flatnonzero(pools.known & ~pools.equal(self._ledger.namespaces.main_name))
        self._uses = forward.columns.ints("seq")[self._forwards]
        self._points = stats.ints("seq")[self.stats]
        self._used = self._settled = 0
        self.free: dict[int, int] = {}

    def settle(self, seq: int) -> None:
        """Judge what came before `seq`: what it rests on is about to change."""
        if self._used < len(self._uses):
            end = int(np.searchsorted(self._uses, seq))
            for space in np.unique(self._space_of(self._forwards[self._used : end])).tolist():
                self._judge_uses(space, self._forwards[self._used : end])
            self._used = max(self._used, end)
        if self._settled < len(self._points):
            end = int(np.searchsorted(self._points, seq))
            for index in self.stats[self._settled : end].tolist():
                self._judge_total(index)
            self._settled = max(self._settled, end)

    def leave(self, end: End) -> None:
        """What the life that ends here still has of other pools: whether tree or session keep it is not followed."""
        ledger = self._ledger
        for number, book in enumerate(ledger.books):
            kept = ledger.namespaces.all[number].kind == COUNTED or self._has_peers(number)
            if book is ledger.main or kept or not book.paged:
                continue
            mine = (book.owner == end.tenure) & (book.state == HELD) & (book.pending < 0) & (book.moving == 0)
            if mine.any():
                ledger.facts.ends.append(replace(end, code=ledger.facts.reason(BESIDE)))

    def _has_peers(self, number: int) -> bool:
        """Whether the pool is the window's, and the mapping from the main pool tells who holds its slots."""
        window, spaces = self._ledger.events.window, self._ledger.namespaces
        return window.told and window.pool is not None and spaces.index(window.pool.name) == number

    def _space_of(self, forwards: Int64s) -> Int64s:
        found: Int64s = self._ledger.events.slots["forward"].namespace[forwards]
        return found

    def _judge_uses(self, space: int, forwards: Int64s) -> None:
        """Forwards of one pool, as long as no page of it changes hands."""
        ledger, facts = self._ledger, self._ledger.facts
        mine, book = forwards[self._space_of(forwards) == space], ledger.books[space]
        if not self._has_peers(space):
            self._mark("owned", mine, facts.reason(BESIDE if book.paged else UNPAGED))
        if not book.paged:
            return self._mark("dangling", mine, facts.reason(UNPAGED))
        rows = ledger.events.slots["forward"]
        lists, limits = rows.listed.take(mine), ledger.namespaces.all[space]
        inside = (lists.values >= limits.reserved) & (lists.values < limits.bound)
        owners, pages = lists.owners[inside], lists.values[inside] // limits.page_size
        state = book.state[pages]
        self._mark("dangling", np.setdiff1d(mine, mine[owners]), SKIP)
        self._mark("dangling", np.unique(mine[owners]), PASS)
        self._mark("dangling", np.unique(mine[owners[state == UNKNOWN]]), self.unseen)
        for at in np.unique(owners[state == FREE]).tolist():
            self._judge_freed(int(mine[at]), book, np.unique(pages[(owners == at) & (state == FREE)]))

    def _judge_freed(self, index: int, book: PageBook, pages: Int64s) -> None:
        ledger, rows = self._ledger, self._ledger.events.slots["forward"]
        life = ledger.past.get((rows.ints("row")[index], rows.ints("epoch")[index]))
        excused = np.array([in_flight(ledger, "forward", index, page, life, book) for page in pages.tolist()])
        if excused.all():
            return ledger.facts.mark("dangling", "forward", index, ledger.facts.reason(IN_FLIGHT))
        broken = Broken(
            way="written", pages=tuple(pages[~excused].tolist()), other=None if life is None else life.id
        )
        return ledger.facts.fail("dangling", "forward", index, broken)

    @property
    def unseen(self) -> int:
        """Why it is not known who holds a page."""
        ledger = self._ledger
        return ledger.facts.reason(UNGRANTED) if ledger.seen_whole else ledger.why

    def _mark(self, law: str, indices: Int64s, code: int) -> None:
        codes = np.frombuffer(self._ledger.facts.codes[law, "forward"], dtype=np.uint8)
        codes[indices[codes[indices] != FAIL]] = code

    def _judge_total(self, index: int) -> None:
        """A settled point of another pool: what is free there is what was not granted, or came back."""
        ledger, space = self._ledger, int(self._spaces[index])
        book, limits = ledger.books[space], ledger.namespaces.all[space]
        total = ledger.events.rows["pool_stat"].ints("total")[index]
        if not book.paged and limits.paged and self._has_peers(space):
            return self._judge_peers(index, limits.page_size)
        if not limits.paged or (not book.paged and not ledger.seen_whole):
            code = ledger.facts.reason(UNPAGED)
        elif (book.pending >= 0).any():
            code = ledger.facts.reason(IN_GROUP)
        elif not ledger.seen_whole:
            code = ledger.why
        else:
            code = PASS
            held = int(book.counts[HELD]) * limits.page_size
            self.free[index] = total - held if total != NULL else NULL
        ledger.facts.mark("totals", "pool_stat", index, code)

    def _judge_peers(self, index: int, size: int) -> None:
        """A settled point of a window's pool whose grants nobody tells: what is free there has no peer in any of its slots."""
        ledger, stats = self._ledger, self._ledger.events.rows["pool_stat"]
        window, seq, code = ledger.events.window, stats.ints("seq")[index], PASS
        if self._in_group(seq):
            code = ledger.facts.reason(IN_GROUP)
        elif not ledger.seen_whole:
            code = ledger.why
        elif window.untold_at(seq) or not ledger.info.records("swa_map"):
            code = ledger.facts.reason(UNMAPPED)
        else:
            total = stats.ints("total")[index]
            self.free[index] = total - window.pages_mapped(size, seq) * size if total != NULL else NULL
        ledger.facts.mark("totals", "pool_stat", index, code)

    def _in_group(self, seq: int) -> bool:
        """Whether a free group is open: its peers are given up, and their pages have not come back."""
        groups = self._ledger.events.rows["free_group"].columns
        before, action = groups.ints("seq") < seq, groups.texts("action")
        return int((before & action.equal("begin")).sum()) > int((before & action.equal("end")).sum())
