"""Forwards and accepts: whether a row reads or writes a page that lies in the free list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.replay.ledger_book import FREE, HELD, UNKNOWN, lowest
from speckv_debug.replay.ledger_facts import PASS, SKIP, Broken
from speckv_debug.replay.ledger_rows import tenure_of
from speckv_debug.replay.ledger_tenure import Tenure
from speckv_debug.replay.ledger_writers import IN_FLIGHT, NO_ROW, in_flight, judge_window_writer, judge_writer
from speckv_debug.replay.ragged import NULL, Int64s

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger


def forward(ledger: Ledger, index: int) -> None:
    """One request in one forward: what it writes, and what its row names below what it reads."""
    rows = ledger.events.slots["forward"]
    idle = rows.ints("padded")[index] == 1 or rows.texts("mode")[index] == "idle"
    if idle or rows.namespace[index] != ledger.namespaces.main:
        ledger.facts.mark("owned", "forward", index, SKIP)
        if not idle and ledger.events.window.strayed[index]:
            judge_window_writer(ledger, index, tenure_of(ledger, "forward", index))
        return ledger.facts.mark("dangling", "forward", index, SKIP)
    start, read = rows.ints("start")[index], rows.ints("read_len")[index]
    reach = read if read != NULL else start + rows.count(index) if start != NULL else NULL
    pages = rows.pages(index)
    _judge(ledger, "forward", index, pages, pages, reach)


def accept(ledger: Ledger, index: int) -> None:
    """One request in one verify: the rows that it wrote and the entries of its row there."""
    events = ledger.events
    written = events.accept_written.pages(index)
    pages = np.concatenate((written, events.accept_table.pages(index)))
    start, width = events.rows["accept"].ints("seq_len")[index], events.accept_table.count(index)
    _judge(ledger, "accept", index, written, pages, start + width if start != NULL else NULL)


def _judge(ledger: Ledger, table: str, index: int, written: Int64s, pages: Int64s, reach: int) -> None:
    tenure, state = tenure_of(ledger, table, index), ledger.main.state[pages]
    _note_use(ledger, table, index)
    least = lowest(state)
    ledger.facts.mark("dangling", table, index, _known(ledger, tenure, least))
    if least < HELD and (freed := pages[state == FREE]).size:
        _judge_freed(ledger, table, index, freed, "written", tenure)
    if tenure is not None and tenure.stale and tenure.alive:
        _judge_row(ledger, table, index, tenure, reach)
    judge_writer(ledger, table, index, tenure, written)


def _known(ledger: Ledger, tenure: Tenure | None, least: int) -> int:
    """The code of a use that nothing speaks against."""
    if tenure is None:
        return ledger.facts.reason(NO_ROW)
    if (tenure.complete or not tenure.alive) and least != UNKNOWN:
        return PASS
    return ledger.why


def _judge_row(ledger: Ledger, table: str, index: int, tenure: Tenure, reach: int) -> None:
    """Entries of the row that went to the free list since, whoever got them then, and were not replaced."""
    entries = tenure.entries if reach == NULL else tenure.entries[: max(0, reach)]
    if (freed := np.unique(entries[np.isin(entries, list(tenure.stale))])).size:
        _judge_freed(ledger, table, index, freed, "read", tenure)


def _judge_freed(
    ledger: Ledger, table: str, index: int, freed: Int64s, way: str, tenure: Tenure | None
) -> None:
    excused = np.array([in_flight(ledger, table, index, page, tenure) for page in freed.tolist()])
    if excused.all():
        ledger.facts.mark("dangling", table, index, ledger.facts.reason(IN_FLIGHT))
        return
    pages = np.unique(freed[~excused])
    broken = Broken(way=way, pages=tuple(pages.tolist()), other=None if tenure is None else tenure.id)
    ledger.facts.fail("dangling", table, index, broken)


def _note_use(ledger: Ledger, table: str, index: int) -> None:
    uses = ledger.events.table(table)
    if (step := uses.ints("step")[index]) != NULL:
        ledger.latest_use = uses.ints("seq")[index], step
