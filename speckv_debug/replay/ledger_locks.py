"""Locks of the prefix tree: what each request keeps from eviction, and whether it gives up what it took."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from speckv_debug.replay.ledger_book import FREE, HELD
from speckv_debug.replay.ledger_facts import PASS, Broken, End
from speckv_debug.replay.ragged import NULL, Int64s, Mask

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger

LAW = "totals"
UNSURE = "whose lock of the prefix tree it is was not recorded: an event names no request or no slots, or a session has it"
BEFORE = "whether the request held the lock before was not recorded"


class At(NamedTuple):
    """An event; `step` is None if it names none."""

    seq: int
    step: int | None


@dataclass(slots=True)
class Lock:
    """A path that a request locked.

    Attributes:
        index: Row of the table `cache`.
        next: The first lock that the request took while it held this one.
        wrong: The event is broken itself: what gives it up is not compared with it.
    """

    index: int
    at: At
    slots: Int64s
    next: At | None = None
    wrong: bool = False


@dataclass(slots=True)
class TreeLocks:
    """The locks that are held.

    Attributes:
        held: Request → its locks, in the order in which it took them.
        served: Request → step and slots of its last match, until it locks.
        since: Request without a lock → when it gave one up, or was served first since it has its row.
        begun: Request → when its row was allocated.
        unsure: Requests whose locks can't be told.
        nameless: A lock or unlock named no request or no slots.
    """

    held: dict[str, list[Lock]] = field(default_factory=dict)
    served: dict[str, tuple[int | None, Int64s]] = field(default_factory=dict)
    since: dict[str, At] = field(default_factory=dict)
    begun: dict[str, At] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)
    nameless: bool = False
    whole: bool = True

    def lock(self, ledger: Ledger, index: int) -> None:
        """A request locks a path of the tree."""
        if (request := self._named(ledger, index)) is None:
            return
        lock = Lock(index, event_at(ledger, "cache", index), ledger.events.slots["cache"].slots(index))
        locks = self.held.setdefault(request, [])
        for earlier in locks:
            earlier.next = earlier.next or lock.at
        locks.append(lock)
        self.since.pop(request, None)
        broken = _beside(ledger, lock) or self._short(ledger, request, lock) or _of_row(ledger, request, lock)
        lock.wrong = broken is not None
        _judge(ledger, index, broken)

    def unlock(self, ledger: Ledger, index: int) -> None:
        """A request gives up the lock of a path."""
        if (request := self._named(ledger, index)) is None:
            return
        locks, slots = self.held.get(request, []), ledger.events.slots["cache"].slots(index)
        known = request in self.held or (self.whole and ledger.seen_whole)
        same = [at for at, lock in enumerate(locks) if lock.wrong or np.array_equal(lock.slots, slots)]
        if same:
            locks.pop(same[-1])
            _judge(ledger, index, None)
        elif self.nameless or not known:
            ledger.facts.mark(LAW, "cache", index, ledger.facts.reason(UNSURE if self.nameless else BEFORE))
        elif locks:
            _judge(ledger, index, _broken(ledger, "unlike", slots, slots=locks.pop().slots))
        else:
            at = self.since.get(request) or self.begun.get(request)
            _judge(ledger, index, _broken(ledger, "unheld", slots, at=at))
        self.since[request] = event_at(ledger, "cache", index)

    def match(self, ledger: Ledger, index: int) -> None:
        """The tree serves a request: what it locks next is what it was served."""
        rows = ledger.events.slots["cache"]
        if (request := rows.texts("request")[index]) is not None and rows.told(index):
            at = event_at(ledger, "cache", index)
            self.served[request] = (at.step, rows.slots(index))
            if not self.held.get(request):
                self.since.setdefault(request, at)

    def begins(self, request: str | None, at: At) -> None:
        """A request gets its row."""
        if request is not None:
            self.begun[request] = at
            self.since.pop(request, None)

    def of_session(self, request: str | None) -> None:
        """A session keeps the locks of a request, or gives them to another: which is not recorded."""
        if request is not None:
            self.held.pop(request, None)
            self.unsure.add(request)

    def settle(self, ledger: Ledger, end: End) -> None:
        """What ended has settled: it locks nothing any more, unless it runs again."""
        request = end.request
        if request is None or (request not in self.begun and request not in self.held):
            return
        tenure, latest = ledger.tenures[end.tenure], ledger.requests.get(request)
        if tenure.alive or tenure.saved or (latest is not None and latest.alive):
            return
        for lock in self.held.pop(request, []) if not self.nameless else []:
            at = lock.next or At(end.seq, end.step)
            if not lock.wrong:
                ledger.facts.fail(LAW, "cache", lock.index, _broken(ledger, "kept", lock.slots, at=at))
        for kept in (self.served, self.since, self.begun):
            kept.pop(request, None)

    def lose(self) -> None:
        """Events are missing here, or the tree was emptied."""
        for kept in (self.held, self.served, self.since, self.begun):
            kept.clear()
        self.whole = False

    def _named(self, ledger: Ledger, index: int) -> str | None:
        """Whose lock it is, None where it can't be judged; the root of the tree holds nothing."""
        rows = ledger.events.slots["cache"]
        request = rows.texts("request")[index]
        if not rows.told(index) or request is None:
            self.nameless = True
        if self.nameless or request in self.unsure:
            ledger.facts.mark(LAW, "cache", index, ledger.facts.reason(UNSURE))
            return None
        return request if rows.count(index) else None

    def _short(self, ledger: Ledger, request: str, lock: Lock) -> Broken | None:
        """A request that was served in this step locks less of it than the tree still holds."""
        step, served = self.served.pop(request, (None, lock.slots))
        missing = served[len(lock.slots) :]
        if step is None or step != lock.at.step or not len(missing) or not _in_tree(ledger, missing).all():
            return None
        return _broken(ledger, "short", missing, slots=served)


def event_at(ledger: Ledger, table: str, index: int) -> At:
    """Where an event stands."""
    rows = ledger.events.table(table)
    return At(rows.ints("seq")[index], rows.int_or_none("step", index))


def _judge(ledger: Ledger, index: int, broken: Broken | None) -> None:
    if broken is None:
        return ledger.facts.mark(LAW, "cache", index, PASS)
    ledger.facts.fail(LAW, "cache", index, broken)


def _beside(ledger: Ledger, lock: Lock) -> Broken | None:
    """Slots that the tree doesn't hold at their positions: those of a free page, or of a request that runs."""
    book, size = ledger.main, ledger.page_size
    rows = ledger.events.slots["cache"]
    pages, start = rows.slot_pages(lock.index), rows.ints("start")[lock.index]
    known = pages >= 0
    owner, state, held = book.owner[pages], book.state[pages], _in_tree(ledger, lock.slots)
    others = (state == HELD) & (owner >= 0) & ledger.alive(owner)
    wrong = known & ~held & ((state == FREE) | others)
    if start != NULL:
        first = start + np.arange(len(pages)) - lock.slots % size
        wrong |= known & held & (book.tree_at[pages] >= 0) & (book.tree_at[pages] != first)
    return _broken(ledger, "beside", lock.slots[wrong]) if wrong.any() else None


def _of_row(ledger: Ledger, request: str, lock: Lock) -> Broken | None:
    """The row of the request names other slots than the path that it locks."""
    tenure = ledger.requests.get(request)
    if tenure is None or not tenure.alive or ledger.events.slots["cache"].ints("start")[lock.index] != 0:
        return None
    named = tenure.slots[: min(len(lock.slots), tenure.extent)]
    wrong = np.flatnonzero((named >= 0) & (named != lock.slots[: len(named)]))
    return _broken(ledger, "row", lock.slots[wrong], slots=named[wrong]) if len(wrong) else None


def _in_tree(ledger: Ledger, slots: Int64s) -> Mask:
    book = ledger.main
    pages = np.clip(slots // ledger.page_size, 0, book.pages - 1)
    return np.asarray((book.tree[pages] | book.host[pages]) > 0, dtype=np.bool_)


def _broken(
    ledger: Ledger, way: str, concerned: Int64s, *, slots: Int64s | None = None, at: At | None = None
) -> Broken:
    pages = tuple(np.unique(concerned // ledger.page_size).tolist())
    return Broken(way=way, pages=pages, slots=() if slots is None else tuple(slots.tolist()), at=at)
