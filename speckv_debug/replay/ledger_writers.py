"""Whether the slots that a forward or a verify writes lie in pages that its request holds, at the time of the write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.replay.further import LooksFurther
from speckv_debug.replay.ledger_ahead import writes_own_chunk
from speckv_debug.replay.ledger_book import FREE, HELD, LONG_AGO, NOBODY, UNKNOWN, PageBook
from speckv_debug.replay.ledger_facts import PASS, SKIP, Broken
from speckv_debug.replay.ledger_rows import others_in
from speckv_debug.replay.ledger_tenure import Tenure
from speckv_debug.replay.ragged import NULL, Int64s
from speckv_debug.replay.window_writes import NOBODYS

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger

NO_ROW = "the event names no request row"
IN_FLIGHT = "the verify was in flight when its request ended: only the stream's order tells which came first"
FREED = "a page that is written lies in the free list: that is OWN-UAF's to judge"
NAMELESS = "a page that is written was granted to nobody by name"
UNTOLD = "a change of the mapping to the window's pool does not say what it changed"
PEERLESS = "whose peer a slot of the window's pool is was not seen"
NOWHERE = np.empty(0, dtype=np.int64)


def judge_writer(ledger: Ledger, table: str, index: int, tenure: Tenure | None, pages: Int64s) -> None:
    """Judge one event that writes to `pages` (none: it names no slots that can be followed)."""
    mark = ledger.facts.mark
    if not len(pages):
        return mark("owned", table, index, PASS if names_slots(ledger, table, index) else SKIP)
    if pads(ledger, table, index):
        return mark("owned", table, index, SKIP)
    if tenure is None:
        return mark("owned", table, index, ledger.facts.reason(NO_ROW))
    book = ledger.main
    mark("owned", table, index, ledger.why if (book.state[pages] == UNKNOWN).any() else PASS)
    held = book.state[pages] == HELD
    foreign = np.unique(pages[held & ((book.owner[pages] != tenure.id) | (book.tree[pages] > 0))])
    if len(foreign):
        _judge_foreign(ledger, table, index, tenure, foreign)
    if (book.state[pages] == FREE).any():
        mark("owned", table, index, ledger.facts.reason(FREED))


def judge_window_writer(ledger: Ledger, index: int, tenure: Tenure | None) -> None:
    """Judge a forward that writes other peers to a window's pool than those of the slots that it writes in the main pool."""
    window, mark, written = ledger.events.window, ledger.facts.mark, ledger.events.window_written
    if window.untold_before(index):
        return mark("owned", "forward", index, ledger.facts.reason(UNTOLD))
    if window.since(index) <= ledger.lost_at:
        return mark("owned", "forward", index, ledger.why)
    judge_writer(ledger, "forward", index, tenure, written.pages(index))
    nobodys = written.slots(index) == NOBODYS
    if tenure is None or not nobodys.any():
        return None
    if not tenure.alive:
        return mark("owned", "forward", index, ledger.facts.reason(IN_FLIGHT))
    if not (ledger.seen_whole and ledger.info.records("swa_map")):
        return mark("owned", "forward", index, ledger.facts.reason(PEERLESS))
    slots = tuple(ledger.events.slots["forward"].slots(index)[nobodys].tolist())
    ledger.facts.fail("owned", "forward", index, Broken(way="nobody", pages=(), slots=slots))


def pads(ledger: Ledger, table: str, index: int) -> bool:
    """Whether the event is a row that only pads the batch: no request, and the reserved request row."""
    rows = ledger.events.table(table)
    return rows.ints("row")[index] == 0 and rows.texts("request")[index] is None


def names_slots(ledger: Ledger, table: str, index: int) -> bool:
    """Whether the event names any slot that it writes, be it a dummy one."""
    rows = ledger.events.accept_written if table == "accept" else ledger.events.slots[table]
    return rows.count(index) > 0 and not pads(ledger, table, index)


def in_flight(
    ledger: Ledger, table: str, index: int, page: int, tenure: Tenure | None, book: PageBook | None = None
) -> bool:
    """Whether the use may have been launched before the page's last free, though it is recorded after it.

    A finished or retracted request usually has one verify in flight; its end carries the step of the
    latest launch. Two lanes are ordered by step only.

    Args:
        book: Of the page, the main one if None.
    """
    free = int((book or ledger.main).freed_by[page])
    if free == LONG_AGO:
        raise LooksFurther("a page is used that was freed long before")
    if free < 0:
        return False
    frees, uses = ledger.events.slots["free"], ledger.events.table(table)
    lanes = {frees.texts("lane")[free], uses.texts("lane")[index]}
    ended = tenure is not None and not tenure.alive
    if not ended and (None in lanes or len(lanes) == 1):
        return False
    freed, used = frees.ints("step")[free], uses.ints("step")[index]
    return NULL in (freed, used) or freed >= used


def _judge_foreign(ledger: Ledger, table: str, index: int, tenure: Tenure, pages: Int64s) -> None:
    """Pages that the allocator gave to another one or nobody by name, or that the tree has taken."""
    own = np.isin(pages, tenure.entries) & (ledger.main.tree[pages] == 0)
    found: dict[tuple[str, int | None], list[int]] = {}
    for page in pages[~own].tolist():
        way, other = _holder(ledger, page, tenure)
        if way == "tree" and table == "forward" and writes_own_chunk(ledger, index, tenure, page):
            continue
        if way is None:
            ledger.facts.mark("owned", table, index, ledger.facts.reason(NAMELESS))
        elif in_flight(ledger, table, index, page, tenure):
            ledger.facts.mark("owned", table, index, ledger.facts.reason(IN_FLIGHT))
        else:
            found.setdefault((way, None if other is None else other.id), []).append(page)
    for (way, holder), taken in found.items():
        _fail(ledger, table, index, way, holder, taken)


def _holder(ledger: Ledger, page: int, writer: Tenure) -> tuple[str | None, Tenure | None]:
    """Who holds a page that is not the writer's own, and in which way; None if nobody is known."""
    book, one = ledger.main, np.array([page], dtype=np.int64)
    owner, saver = int(book.owner[page]), int(book.session[page])
    if book.tree[page] > 0:
        return "tree", others_in(ledger, one, writer)
    if owner not in (NOBODY, writer.id) and ledger.tenures[owner].alive:
        return "owner", ledger.tenures[owner]
    if saver not in (NOBODY, writer.id):
        return "session", ledger.tenures[saver]
    other = others_in(ledger, one, writer)
    return ("row", other) if other is not None else (None, None)


def _fail(ledger: Ledger, table: str, index: int, way: str, holder: int | None, pages: list[int]) -> None:
    positions = NOWHERE if holder is None else ledger.tenures[holder].positions(np.array(pages))
    ends = (int(positions[0]), int(positions[-1])) if len(positions) else None
    broken = Broken(way=way, pages=tuple(pages), other=holder, positions=ends)
    ledger.facts.fail("owned", table, index, broken)
