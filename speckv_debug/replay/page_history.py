"""What happened to a page, event by event: the evidence behind a finding about it."""

from __future__ import annotations

import numpy as np

from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ledger_events import SlotRows
from speckv_debug.replay.ownership import event_place

COLUMNS = ("seq", "step", "event", "request", "row", "epoch", "slots", "reason", "site")
TABLES = ("alloc", "free", "table_write", "cache")
CACHE_ACTIONS = ("insert", "evict", "session_save", "session_restore", "session_close", "reset")
SHOWN = 12


def page_history(ledger: Ledger, pool: str | None, page: int, until_seq: int) -> Evidence:
    """The last events up to `until_seq` that granted, named, kept or returned the page; the last row is marked."""
    found = sorted(event for name in TABLES for event in _touching(ledger, name, pool, page, until_seq))
    rows = tuple(_row(ledger, pool, page, table, row) for _, table, row in found[-SHOWN:])
    left_out = f", the last {SHOWN} of {len(found)} events" if len(found) > SHOWN else ""
    title = f"page {page} of pool {ledger.namespaces.all[ledger.namespaces.index(pool)].name}{left_out}"
    return Evidence(title=title, columns=COLUMNS, rows=rows, marked=(len(rows) - 1,) if rows else ())


def last_event(ledger: Ledger, table: str, pool: str | None, page: int, before_seq: int) -> int | None:
    """Row of the last event of a table before `before_seq` that names the page."""
    found = _touching(ledger, table, pool, page, before_seq - 1)
    return max(found)[2] if found else None


def slots_in(rows: SlotRows, index: int, pages: tuple[int, ...]) -> tuple[int, ...]:
    """The slots of an event that lie in these pages, in its order."""
    inside = np.isin(rows.slot_pages(index), pages)
    return tuple(rows.slots(index)[inside].tolist())


def ranges(values: tuple[int, ...], shown: int = 4) -> str:
    """Ascending integers as half-open ranges, `[16, 20), 31`; what is left out is counted."""
    if not values:
        return "none"
    parts: list[tuple[int, int]] = []
    for value in sorted(set(values)):
        if parts and parts[-1][1] == value:
            parts[-1] = (parts[-1][0], value + 1)
        else:
            parts.append((value, value + 1))
    text = ", ".join(str(a) if b == a + 1 else f"[{a}, {b})" for a, b in parts[:shown])
    return text if len(parts) <= shown else f"{text} and {len(parts) - shown} more ranges"


def _touching(
    ledger: Ledger, table: str, pool: str | None, page: int, until_seq: int
) -> list[tuple[int, str, int]]:
    rows = ledger.events.slots[table]
    runs, seq = rows.lists.runs, rows.columns.ints("seq")
    named = np.unique(np.searchsorted(runs.offsets, np.flatnonzero(runs.values == page), side="right") - 1)
    space = ledger.namespaces.index(pool)
    return [
        (int(seq[row]), table, int(row))
        for row in named.tolist()
        if seq[row] <= until_seq and rows.namespace[row] == space and _counts(rows, table, row)
    ]


def _counts(rows: SlotRows, table: str, row: int) -> bool:
    return table != "cache" or rows.texts("action")[row] in CACHE_ACTIONS


def _row(ledger: Ledger, pool: str | None, page: int, table: str, row: int) -> tuple[Cell, ...]:
    rows, place = ledger.events.slots[table], event_place(ledger, table, row)
    event = f"cache {rows.texts('action')[row]}" if table == "cache" else table
    reason, site = (rows.columns.text_at(name, row) for name in ("reason", "site"))
    named = ranges(slots_in(rows, row, (page,)))
    return (place.seq, place.step, event, place.request, place.row, place.epoch, named, reason, site)
