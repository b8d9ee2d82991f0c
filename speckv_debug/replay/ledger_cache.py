"""The prefix tree, sessions and transfers: what `cache` and `transfer` do to the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.replay.ledger_beside import UNPAGED
from speckv_debug.replay.ledger_book import FREE, HELD, NOBODY, UNKNOWN, lowest
from speckv_debug.replay.ledger_facts import PASS, SKIP, Broken
from speckv_debug.replay.ledger_lengths import settle_saved
from speckv_debug.replay.ledger_publish import judge_insert
from speckv_debug.replay.ledger_rows import end_of
from speckv_debug.replay.ledger_tenure import Tenure
from speckv_debug.replay.ragged import NULL, Int64s

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger

NAMELESS = "a session_save does not name its request: whose pages the session keeps is not known"
USES = ("insert", "match", "session_save", "session_restore")
RESET = "the tree that held the page was reset, and the page was not seen since"
READING = ("send", "d2h", "to_host")
"""Directions of transfers that read the pages; others write them, into pages that no request may use yet."""
HOLDING = ("insert", "evict", "session_save", "session_restore")


def cache(ledger: Ledger, index: int) -> None:
    """The tree or a session takes pages, serves them, or lets them go."""
    rows = ledger.events.slots["cache"]
    action, pages = rows.texts("action")[index], rows.pages(index)
    followed = rows.namespace[index] == ledger.namespaces.main
    if action not in USES or not rows.count(index):
        ledger.facts.mark("dangling", "cache", index, SKIP)
    else:
        _judge_use(ledger, "cache", index, pages)
    if followed and action in HOLDING:
        ledger.need_slots("cache", index)
    if followed and action in ACTIONS:
        ACTIONS[action](ledger, index, pages)


def transfer(ledger: Ledger, index: int) -> None:
    """Pages are in flight between begin and end."""
    rows = ledger.events.slots["transfer"]
    book, pages = ledger.books[rows.namespace[index]], np.unique(rows.pages(index))
    if rows.texts("action")[index] == "begin":
        if rows.texts("direction")[index] in READING and len(pages):
            _judge_use(ledger, "transfer", index, pages)
        book.moving[pages] += 1
    else:
        book.moving[pages] = np.maximum(book.moving[pages] - 1, 0)
        if book is ledger.main:
            ledger.totals.doubt(pages)


def _judge_use(ledger: Ledger, table: str, index: int, pages: Int64s) -> None:
    book = ledger.books[ledger.events.slots[table].namespace[index]]
    if not book.paged and book is not ledger.main:
        return ledger.facts.mark("dangling", table, index, ledger.facts.reason(UNPAGED))
    state = book.state[pages]
    least = lowest(state)
    unseen = ledger.why if book is ledger.main else ledger.beside.unseen
    ledger.facts.mark("dangling", table, index, unseen if least == UNKNOWN else PASS)
    if least < HELD and (state == FREE).any():
        freed = tuple(np.unique(pages[state == FREE]).tolist())
        way = "cached" if table == "cache" else "read"
        ledger.facts.fail("dangling", table, index, Broken(way=way, pages=freed))


def _insert(ledger: Ledger, index: int, pages: Int64s) -> None:
    rows, book = ledger.events.slots["cache"], ledger.main
    start, slots, of_slot = rows.ints("start")[index], rows.slots(index), rows.slot_pages(index)
    judge_insert(ledger, index)
    with book.changing(pages):
        book.state[pages[book.state[pages] == UNKNOWN]] = HELD
        book.tree[pages] = 1
    known = of_slot >= 0
    ledger.parts.difference_update(pages.tolist())
    ledger.parts.update(_partly(ledger, index).tolist())
    first = (
        start + np.arange(len(slots)) - slots % ledger.page_size if start != NULL else np.full(len(slots), -1)
    )
    book.tree_at[of_slot[known]] = first[known]


def _evict(ledger: Ledger, index: int, pages: Int64s) -> None:
    with ledger.main.changing(pages):
        ledger.main.tree[pages] = 0
    ledger.main.tree_at[pages] = -1
    ledger.totals.doubt(pages)


def _evict_node(ledger: Ledger, index: int, pages: Int64s) -> None:
    """The hold on a page ends when all of its slots are named, as they were when the tree took them."""
    kept = [page for page in _partly(ledger, index).tolist() if page not in ledger.parts]
    _evict(ledger, index, np.setdiff1d(pages, kept))


def _partly(ledger: Ledger, index: int) -> Int64s:
    """Pages of which the event names some slots only."""
    if ledger.page_size == 1:
        return np.empty(0, dtype=np.int64)
    pages, counts = np.unique(ledger.events.slots["cache"].slot_pages(index), return_counts=True)
    return np.asarray(pages[(counts < ledger.page_size) & (pages >= 0)], dtype=np.int64)


def _match(ledger: Ledger, index: int, pages: Int64s) -> None:
    ledger.locks.match(ledger, index)


def _lock(ledger: Ledger, index: int, pages: Int64s) -> None:
    ledger.locks.lock(ledger, index)
    ledger.main.locks[pages] += 1


def _unlock(ledger: Ledger, index: int, pages: Int64s) -> None:
    ledger.locks.unlock(ledger, index)
    ledger.main.locks[pages] = np.maximum(ledger.main.locks[pages] - 1, 0)


def _reset(ledger: Ledger, index: int, pages: Int64s) -> None:
    """The tree is emptied; whether its pages were freed one by one or with the whole pool is not said."""
    book = ledger.main
    gone = np.flatnonzero((book.tree > 0) | ((book.state == HELD) & (book.refs == 0)))
    _evict(ledger, index, gone)
    book.locks[:] = 0
    ledger.locks.lose()
    book.disown(gone)
    if ledger.seen_whole:
        ledger.why = ledger.facts.reason(RESET)


def _save(ledger: Ledger, index: int, pages: Int64s) -> None:
    """The request ends; the session keeps what it names."""
    ledger.locks.of_session(ledger.events.slots["cache"].texts("request")[index])
    if (tenure := _named(ledger, index)) is None:
        ledger.totals.lose()
        ledger.why = ledger.facts.reason(NAMELESS) if ledger.seen_whole else ledger.why
        return
    with ledger.main.changing(pages):
        ledger.main.session[pages[ledger.main.state[pages] != FREE]] = tenure.id
    if tenure.alive:
        end_of(ledger, tenure, "cache", index)
    tenure.saved = True


def _restore(ledger: Ledger, index: int, pages: Int64s) -> None:
    """The session hands its slots back to the row that comes with the next event of the request."""
    book, request = ledger.main, ledger.events.slots["cache"].texts("request")[index]
    ledger.locks.of_session(request)
    if (tenure := _saver(ledger, pages)) is None:
        return
    gone = tenure.stale.intersection(pages.tolist())
    if gone:
        ledger.facts.fail("dangling", "cache", index, Broken(way="cached", pages=tuple(sorted(gone))))
    tenure.stale = ()
    settle_saved(ledger, tenure)
    with book.changing(pages):
        book.session[pages] = book.owner[pages] = NOBODY
    if request is not None and tenure.saved:
        ledger.restored[request] = tenure


def _close(ledger: Ledger, index: int, pages: Int64s) -> None:
    """The session gives up what it kept; the frees follow."""
    ledger.locks.of_session(ledger.events.slots["cache"].texts("request")[index])
    tenure = _saver(ledger, pages) or _named(ledger, index)
    with ledger.main.changing(pages):
        ledger.main.session[pages] = NOBODY
    ledger.totals.doubt(pages)
    if tenure is not None and tenure.saved:
        tenure.saved = False
        ledger.note_end(tenure, "cache", index)


def _named(ledger: Ledger, index: int) -> Tenure | None:
    request = ledger.events.slots["cache"].texts("request")[index]
    return ledger.requests.get(request) if request is not None else None


def _saver(ledger: Ledger, pages: Int64s) -> Tenure | None:
    """Whose pages they are, by what was saved; a session whose pages were freed is found by its row."""
    savers = ledger.main.session[pages]
    known = savers[savers != NOBODY]
    if len(known):
        return ledger.tenures[int(known[0])]
    named = set(pages.tolist())
    return next((t for t in ledger.tenures if t.saved and t.stale & named), None)


ACTIONS = {
    "insert": _insert,
    "match": _match,
    "evict": _evict_node,
    "lock": _lock,
    "unlock": _unlock,
    "reset": _reset,
    "session_save": _save,
    "session_restore": _restore,
    "session_close": _close,
}
