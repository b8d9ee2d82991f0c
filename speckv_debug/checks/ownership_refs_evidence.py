"""What a finding about a counted page says: the broken count or hold, with the page's ledger by holder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from speckv_debug.checks.evidence import more, number
from speckv_debug.checks.rule import NOTE, Details
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import plural, quantity
from speckv_debug.replay.page_history import ranges
from speckv_debug.replay.page_refs import PageRefs
from speckv_debug.replay.page_turns import FREE, GRANT
from speckv_debug.replay.ragged import Int64s, Mask

SHOWN = 12


def explain(refs: PageRefs, i: int) -> Details:
    """One broken instance."""
    table, row = refs.event(i)
    at = int(np.searchsorted(refs.rows[table], row))
    if table == "page_ref":
        return _explain_entry(refs, i, refs.entries.event == row)
    if table in ("alloc", "free"):
        turn = GRANT if table == "alloc" else FREE
        mine = (refs.turns.event == row) & (refs.turns.turn == turn) & (refs.left > 0)
        return _explain_turn(refs, i, table, np.flatnonzero(mine))
    if table == "table_write":
        return _explain_cell(
            refs, i, np.flatnonzero((refs.cells.write == at) & (refs.held <= 0) & (refs.cells.page > 0))
        )
    if table == "pool_stat":
        return _explain_total(refs, at)
    return _explain_end(refs, i, at)


def _explain_entry(refs: PageRefs, i: int, mine: Mask) -> Details:
    entries = refs.entries
    fell, settled = refs.kept_back
    kinds = (
        (entries.negative | entries.unheld, _released),
        (refs.revived, _revived),
        (refs.ungranted, _ungranted),
        (entries.miscounted, _miscounted),
        (entries.twice, _twice),
        (fell & settled, _kept_back),
        (refs.swapped, _swapped),
    )
    for hit, said in kinds:
        if (found := np.flatnonzero(hit & mine)).size:
            return said(refs, i, found)
    raise ValueError("the entry keeps the law")


def _released(refs: PageRefs, i: int, found: Int64s) -> Details:
    k, who = int(found[0]), refs.entries.name(int(found[0]))
    page, told = int(refs.entries.page[k]), number(refs.entries.told[k])
    below = told is not None and told < 0
    message = f"{who or 'someone'} gives up page {page}" + (
        f", its count falls to {told}" if below else ", which it does not hold"
    )
    return _details(refs, i, found, message, "a holder gives up what it holds, once", f"count {told} left")


def _revived(refs: PageRefs, i: int, found: Int64s) -> Details:
    k = int(found[0])
    page, who, again = int(refs.entries.page[k]), refs.entries.name(k), refs.entries.swapped[k]
    why = ": its own release before freed it" if again else ""
    message = f"{who or 'someone'} takes page {page} while it is in the free list{why}"
    return _details(refs, i, found, message, "a page is held or free", f"page {page} is held and free")


def _ungranted(refs: PageRefs, i: int, found: Int64s) -> Details:
    page, who = int(refs.entries.page[found[0]]), refs.entries.name(int(found[0]))
    message = f"{who or 'someone'} takes page {page}, which nobody was granted"
    return _details(
        refs, i, found, message, "references are to pages that were granted", f"no grant of page {page}"
    )


def _miscounted(refs: PageRefs, i: int, found: Int64s) -> Details:
    k = int(found[0])
    page, told, due = (int(v[k]) for v in (refs.entries.page, refs.entries.told, refs.entries.expected))
    message = f"page {page} has count {told}, {due} references are held"
    return _details(refs, i, found, message, f"count_after {due}", f"count_after {told}")


def _twice(refs: PageRefs, i: int, found: Int64s) -> Details:
    k = int(found[0])
    page, who, held = int(refs.entries.page[k]), refs.entries.name(k), int(refs.entries.held[k])
    message = f"{who} takes page {page} again while it holds it"
    return _details(refs, i, found, message, "one reference a holder", f"{held} references of {who}")


def _kept_back(refs: PageRefs, i: int, found: Int64s) -> Details:
    page = int(refs.entries.page[found[0]])
    message = f"page {page} lost its last reference and never went back"
    return _details(refs, i, found, message, "a free of the page", f"page {page}: count 0, not free")


def _swapped(refs: PageRefs, i: int, found: Int64s) -> Details:
    k = int(found[0])
    page, who = int(refs.entries.page[k]), refs.entries.name(k)
    message = (
        f"a replace releases before it retains: page {page} stays with {who} only because someone else holds it "
        "in between, else it would be free and held"
    )
    details = _details(refs, i, found, message, "retain before release", f"{who} releases, then retains")
    return replace(details, severity=NOTE)


def _explain_turn(refs: PageRefs, i: int, table: str, found: Int64s) -> Details:
    pages = np.unique(refs.turns.page[found])
    left = int(refs.left[found[0]])
    some = f"{quantity(left, 'reference to it is', 'references to it are')}"
    verb = "is granted" if table == "alloc" else "goes to the free list"
    return Details(
        message=f"page {refs.turns.page[found[0]]} {verb} while {some} left{more(found, 'page')}",
        expected="a page goes back when its last reference goes, and is granted behind that",
        actual=f"count {left}",
        pages=tuple(pages.tolist()),
        evidence=(_ledger(refs, i, int(refs.turns.page[found[0]])),),
    )


def _explain_cell(refs: PageRefs, i: int, found: Int64s) -> Details:
    cell = int(found[0])
    page, row, column = (int(v[cell]) for v in (refs.cells.page, refs.cells.row, refs.cells.column))
    return Details(
        message=f"sidecar row {row} names page {page} (column {column}), to which row {row} holds no reference{more(found, 'page')}",
        expected=f"row {row} retains page {page}",
        actual="no reference of the row when the page is used",
        pages=tuple(np.unique(refs.cells.page[found]).tolist()),
        evidence=(_ledger(refs, i, page),),
    )


def _explain_end(refs: PageRefs, i: int, at: int) -> Details:
    row, until = (int(v[at]) for v in refs.ends)
    if refs.left_in_ring[at] and not refs.surely_left[at]:
        return _explain_ring(refs, i, at, row)
    held = refs.held_by(row, until) if refs.recorded else []
    named = refs.cells.left(row, until) if refs.names_recorded else []
    said = ([f"still holds {_pages(held)}"] if refs.left_held[at] and held else []) + (
        [f"its sidecar still names {_pages([page for _, page in named])}"] if named else []
    )
    pages = tuple(sorted({*held, *(page for _, page in named)}))
    cells: tuple[tuple[Cell, ...], ...] = tuple(named[:SHOWN])
    return Details(
        message=f"row {row} has ended and {' and '.join(said)}",
        expected="the end of a row releases its pages and zeroes its sidecar",
        actual=f"{quantity(len(held), 'page')} held, {len(named)} named",
        pages=pages,
        evidence=(
            *(_ledger(refs, i, page) for page in pages[:1]),
            Evidence(title=f"sidecar row {row}", columns=("column", "page"), rows=cells),
        ),
    )


def _pages(pages: Sequence[int]) -> str:
    return f"{plural(len(pages), 'page')} {ranges(tuple(pages))}"


def _explain_ring(refs: PageRefs, i: int, at: int, row: int) -> Details:
    event = int(refs.rows["row_free"][at])
    written, used = int(refs.rings.written[event]), int(refs.rings.used[event])
    columns = ("seq", "step", "event", "request", "epoch")
    rows: tuple[tuple[Cell, ...], ...] = tuple(refs.rings.turn(event))
    return Details(
        message=f"row {row} has ended and its ring of C128 state is not emptied: what event {written} wrote stands there for the next "
        f"request (event {used})",
        expected="a clear of the whole ring before the row's next life",
        actual=f"no clear between event {written} and event {used}",
        place=replace(refs.place(i), pool=refs.rings.pool(event)),
        evidence=(Evidence(title=f"ring of row {row}", columns=columns, rows=rows, marked=(len(rows) - 1,)),),
    )


def _explain_total(refs: PageRefs, at: int) -> Details:
    free, due = (int(v[at]) for v in refs.available)
    name = list(refs.sizes)[int(refs._pool("pool_stat")[refs.rows["pool_stat"][at]])]
    total = int(refs.columns("pool_stat").ints("total")[refs.rows["pool_stat"][at]])
    rows = (
        ("available", free, due),
        ("held by references", total - free, total - due),
        ("all", total, total),
    )
    columns = ("slots", "by the engine", "by the references")
    return Details(
        message=f"the engine counts {quantity(free, 'slot')} available in pool {name}, the references leave {due}",
        expected=f"{quantity(due, 'slot')} available",
        actual=f"{quantity(free, 'slot')} available",
        evidence=(Evidence(title="the pool at this point", columns=columns, rows=rows, marked=(0, 1)),),
    )


def _details(refs: PageRefs, i: int, found: Int64s, message: str, expected: str, actual: str) -> Details:
    page = int(refs.entries.page[found[0]])
    pages = tuple(np.unique(refs.entries.page[found]).tolist())
    shown = (_ledger(refs, i, page),)
    return Details(
        message=message + more(found, "page"), expected=expected, actual=actual, pages=pages, evidence=shown
    )


def _ledger(refs: PageRefs, i: int, page: int) -> Evidence:
    """The references to a page up to the instance, with what each holder has of it."""
    entries = refs.entries
    until = max(int(refs.seq[i]), int(refs.settled[i]) if refs.event(i)[0] == "row_free" else 0)
    found = np.flatnonzero((entries.page == page) & (entries.seq <= until))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            int(entries.seq[k]),
            entries.name(k),
            "retain" if entries.delta[k] > 0 else "release",
            int(entries.held[k]),
            number(entries.expected[k]),
            number(entries.told[k]),
        )
        for k in found[-SHOWN:].tolist()
    )
    left_out = f", the last {SHOWN} of {len(found)} events" if len(found) > SHOWN else ""
    columns = ("seq", "holder", "action", "holder has", "references", "count_after")
    return Evidence(title=f"references to page {page}{left_out}", columns=columns, rows=rows)
