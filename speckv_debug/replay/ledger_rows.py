"""Request rows and req_to_token: what `row_alloc`, `row_free` and `table_write` do to the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.replay.ledger_book import FREE, HELD, NOBODY, UNKNOWN, lowest
from speckv_debug.replay.ledger_facts import PASS, SKIP, Broken
from speckv_debug.replay.ledger_locks import event_at
from speckv_debug.replay.ledger_tenure import WIDEST, Tenure
from speckv_debug.replay.ragged import NULL, Int64s

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger


def tenure_of(ledger: Ledger, table: str, index: int) -> Tenure | None:
    """Whom an event belongs to: by row and epoch, else by the request's name; None if it says neither."""
    rows = ledger.events.table(table)
    row, epoch = rows.ints("row")[index], rows.ints("epoch")[index]
    request = rows.texts("request")[index] if table != "table_write" else None
    if row == NULL or row < 0:
        return ledger.requests.get(request) if request is not None else None
    tenure = ledger.rows.get(row)
    if tenure is None or (epoch != NULL and epoch != tenure.epoch):
        tenure = ledger.past.get((row, epoch)) or _meet(ledger, row, epoch, request, whole=ledger.seen_whole)
    elif tenure.saved and (tenure in ledger.restored.values()):
        _wake(ledger, tenure, request)
    if request is not None and tenure.request is None:
        tenure.request, ledger.requests[request] = request, tenure
    return tenure


def row_alloc(ledger: Ledger, index: int) -> None:
    """A row begins a new life, unless a chunked prompt asks for its own row again."""
    rows = ledger.events.rows["row_alloc"]
    row, epoch, request = rows.ints("row")[index], rows.ints("epoch")[index], rows.texts("request")[index]
    old = ledger.rows.get(row)
    if row == NULL or row < 0 or (old is not None and _same_life(old, epoch, request)):
        return
    ledger.locks.begins(request, event_at(ledger, "row_alloc", index))
    _meet(ledger, row, epoch, request, whole=True)


def row_free(ledger: Ledger, index: int) -> None:
    """A row ends."""
    tenure = tenure_of(ledger, "row_free", index)
    if tenure is not None and tenure.alive:
        end_of(ledger, tenure, "row_free", index)


def table_write(ledger: Ledger, index: int) -> None:
    """The row names other slots from here on."""
    rows = ledger.events.slots["table_write"]
    start, count = rows.ints("start")[index], rows.count(index)
    followed = 0 <= start <= WIDEST - count and rows.namespace[index] == ledger.namespaces.main
    tenure = tenure_of(ledger, "table_write", index) if followed else None
    if tenure is not None and not rows.told(index):
        tenure.complete = False
        ledger.orphans.hide(tenure, start)
        if tenure.stale:  # entries from `start` on may name other pages now
            tenure.stale = tenure.stale.intersection(tenure.pages[:start].tolist())
    if tenure is None or not count:
        return ledger.facts.mark("alias", "table_write", index, SKIP)
    pages = rows.pages(index)
    if tenure.alive:
        _judge_write(ledger, index, tenure, pages, start)
        ledger.orphans.note(ledger, index, tenure, start, rows.slots(index))
        if (unheld := pages[ledger.main.state[pages] == FREE]).size:
            tenure.stale = tenure.stale.union(unheld.tolist())
    else:
        ledger.facts.mark("alias", "table_write", index, SKIP)
    tenure.write(ledger.main, start, rows.slots(index), rows.slot_pages(index))
    tenure.was_given(ledger.events.giving("table_write", index))
    if tenure.stale:
        tenure.mend()


def end_of(ledger: Ledger, tenure: Tenure, table: str, index: int) -> None:
    """A tenure's hold ends with this event; what it held is looked at when things have settled."""
    tenure.rest(ledger.main)
    ledger.note_end(tenure, table, index)


def held(ledger: Ledger, tenure: Tenure) -> Int64s:
    """Every page that the tenure ever held, ascending."""
    return np.unique(np.concatenate((tenure.inherited, ledger.given(tenure))))


def others_in(ledger: Ledger, pages: Int64s, tenure: Tenure) -> Tenure | None:
    """Another running tenure whose row names one of these pages."""
    if not len(pages) or not (ledger.main.refs[pages] > 0).any():
        return None
    return next((o for o in ledger.running() if o is not tenure and len(o.positions(pages))), None)


def _same_life(old: Tenure, epoch: int, request: str | None) -> bool:
    if epoch != NULL:
        return epoch == old.epoch
    return old.alive and request == old.request


def _meet(ledger: Ledger, row: int, epoch: int, request: str | None, *, whole: bool) -> Tenure:
    """A life of a row is seen for the first time."""
    old = ledger.rows.get(row)
    number = epoch if epoch != NULL else (old.epoch + 1 if old is not None else 1)
    tenure = Tenure(ledger.store, len(ledger.tenures), row, number, request, whole)
    ledger.tenures.append(tenure)
    ledger.past[row, number] = tenure
    if old is not None and old.epoch > number:
        tenure.alive = False  # an event of a life that is over
        return tenure
    if old is not None:
        tenure.make_room(old.room)
        if old.alive:
            old.rest(ledger.main)
    ledger.rows[row] = tenure
    if row < len(ledger.store.latest):
        ledger.store.latest[row] = tenure.id
    if request is not None:
        ledger.requests[request] = tenure
        if (saved := ledger.restored.pop(request, None)) is not None:
            tenure.inherited = held(ledger, saved)
    return tenure


def _wake(ledger: Ledger, tenure: Tenure, request: str | None) -> None:
    """A session's row runs again: the slots that it was handed back are its own."""
    tenure.revive(ledger.main)
    for name in [name for name, saved in ledger.restored.items() if saved is tenure]:
        del ledger.restored[name]
        tenure.request, ledger.requests[name] = name, tenure
    book, pages = ledger.main, held(ledger, tenure)
    free_to_take = (book.state[pages] == HELD) & (book.owner[pages] == NOBODY) & (book.tree[pages] == 0)
    book.owner[pages[free_to_take]] = tenure.id


def _judge_write(ledger: Ledger, index: int, tenure: Tenure, pages: Int64s, start: int) -> None:
    """A row may name its own pages, and those of the tree where the tree has them."""
    book, facts = ledger.main, ledger.facts
    state, owner, tree = book.state[pages], book.owner[pages], (book.tree[pages] | book.host[pages]) > 0
    facts.mark("alias", "table_write", index, ledger.why if lowest(state) == UNKNOWN else PASS)
    foreign = (state == HELD) & ~tree & (owner != tenure.id)
    if foreign.any():
        _judge_foreign(ledger, index, tenure, pages[foreign])
    if tree.any():
        _judge_shared(ledger, index, tenure, start)


def _judge_foreign(ledger: Ledger, index: int, tenure: Tenure, pages: Int64s) -> None:
    owner = ledger.main.owner[pages]
    taken = (owner >= 0) & ledger.alive(owner)
    if taken.any():
        return _fail(ledger, index, ledger.tenures[int(owner[taken][0])], pages[taken])
    if (other := others_in(ledger, pages, tenure)) is not None:
        return _fail(ledger, index, other, pages)
    ledger.main.owner[pages[owner < 0]] = tenure.id


def _judge_shared(ledger: Ledger, index: int, tenure: Tenure, start: int) -> None:
    """A page of the tree lies in a shared prefix only at the positions at which the tree has it."""
    rows, book = ledger.events.slots["table_write"], ledger.main
    slots, pages = rows.slots(index), rows.slot_pages(index)
    at = start + np.arange(len(slots)) - slots % ledger.page_size
    wrong = (pages >= 0) & (book.tree[pages] > 0) & (book.tree_at[pages] >= 0) & (book.tree_at[pages] != at)
    if not wrong.any() or (other := others_in(ledger, np.unique(pages[wrong]), tenure)) is None:
        return
    theirs = other.positions(pages[wrong]) - other.slots[other.positions(pages[wrong])] % ledger.page_size
    if not np.isin(at[wrong], theirs).any():
        _fail(ledger, index, other, np.unique(pages[wrong]))


def _fail(ledger: Ledger, index: int, other: Tenure, pages: Int64s) -> None:
    positions = other.positions(pages)
    ends = (int(positions[0]), int(positions[-1])) if len(positions) else None
    broken = Broken(way="written", pages=tuple(np.unique(pages).tolist()), other=other.id, positions=ends)
    ledger.facts.fail("alias", "table_write", index, broken)
