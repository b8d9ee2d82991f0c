"""ST-RING: a compression reads the positions that it wants from the ring, of its request, and accepted ones."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import named, number
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import quantity
from speckv_debug.replay.ragged import NULL, Int64s
from speckv_debug.replay.ring_reads import RingReads
from speckv_debug.replay.ring_writes import VerifyWrites

SHOWN = 16
"""Ring rows that the strip shows, from the first wrong one on."""


@rule(
    "ST-RING",
    severity=ERROR,
    needs=("state_access",),
    scope="ring_reads",
    look_at="compress_forward (c128_v2.cuh, c4_v2.cuh), get_compress_state_write_pad",
    follows=("ST-C128", "ST-RING", "ACC-COUNT", "LEN-SEQ"),
)
def rings_hold_what_is_read(rings: RingReads) -> Judgement:
    """A compression reads from each ring row the position that it wants: of its own request, written, accepted, not cleared.

    A request reads and writes the ring of its own row, as the verifies and forwards of the step have it. A wanted position
    below 0 asks for the neutral state. A ring serves verifies of up to ring - window + 2 rows: a wider one overwrites
    positions that may still be read. A verify writes each of its positions that any number of accepted rows may leave to be
    compressed later: all but the last one of a group of C128.

    Exceptions: what a forward compresses of its own positions it takes from its input, since it reads the ring before it
    writes; a draft that was rejected may be overwritten before it is read, so that an engine needs no clear; state that
    came by a transfer; state that is bound to pages (C4 before A5) is shared with the page, and judged where the event has
    no row and names addresses; the online variant of C128 is not judged.

    Unknown: a cell of which not all writes, clears, accepts and lives of its row were recorded, or that was written before the
    recording; state that is bound to pages where the event names a row; an event without action, ring rows or positions.
    """
    nobody = np.zeros(len(rings), dtype=np.bool_)
    if not len(rings):
        return verdict(nobody, lambda i: _explain(rings, i, VerifyWrites(rings)))
    online = nobody | bool(rings.info.settings.get("online_c128"))
    unplaced = rings.bound_to_pages & (rings.access.ints("row") != NULL)
    other = online | unplaced
    stale, left_open = rings.over(rings.stale), rings.over(rings.open)
    writes = VerifyWrites(rings)
    reasons = {
        "the online variant of C128 has no ring of positions": online,
        "the state is bound to pages": unplaced,
        "no action, row, ring_rows and positions": ~rings.cells.told,
        "what a ring row holds was not seen": left_open,
        "not all that the verify writes was seen": writes.untold,
    }
    failed = (stale | rings.crowded | writes.short | rings.strayed) & ~other
    return verdict(failed, lambda i: _explain(rings, i, writes), reasons)


def _explain(rings: RingReads, i: int, writes: VerifyWrites) -> Details:
    if rings.strayed[i]:
        return _explain_strayed(rings, i)
    if rings.crowded[i]:
        return _explain_crowded(rings, i)
    if writes.short[i]:
        return _explain_short(writes, i)
    mine = rings.cells.event[rings.read] == i
    found = np.flatnonzero(rings.stale & mine)
    k = int(found[0])
    ring_row, wanted = int(rings.cells.ring_row[rings.read[k]]), int(rings.wanted[k])
    more = f", and {quantity(len(found) - 1, 'more ring row')}" if len(found) > 1 else ""
    return Details(
        message=f"ring row {ring_row} is read for {_position(wanted)} and holds {_holds(rings, k)}{more}",
        expected=f"{_position(wanted)} of the request",
        actual=_holds(rings, k),
        evidence=(_strip(rings, np.flatnonzero(mine), k),),
    )


def _explain_strayed(rings: RingReads, i: int) -> Details:
    row, own = int(rings.access.ints("row")[i]), int(rings.own_row[i])
    done = "is written" if rings.kind(i) == "write" else "is read"
    return Details(
        message=f"the ring of request row {row} {done} for {named(rings.access.text_at('request', i))}, which has row {own} in the step",
        expected=f"the ring of request row {own}",
        actual=f"the ring of request row {row}",
    )


def _explain_crowded(rings: RingReads, i: int) -> Details:
    width, capacity, size, window = (
        int(v[i]) for v in (rings.width, rings.capacity, rings.size, rings.window)
    )
    served = quantity(capacity, "row") if capacity > 0 else "no verify"
    return Details(
        message=f"a verify of {quantity(width, 'row')} writes to a ring that can serve {served}: positions that are not compressed yet "
        "are overwritten",
        expected=f"at most ring - window + 2 = {size} - {window} + 2 = {quantity(capacity, 'row')} a verify",
        actual=f"{quantity(width, 'row')}",
    )


def _explain_short(writes: VerifyWrites, i: int) -> Details:
    verify, missing = int(writes.rings.verify[i]), writes.missing(i)
    length, width = int(writes.rings.verifies.seq_len[verify]), int(writes.rings.width[i])
    return Details(
        message=f"a verify from position {length} does not write {_some(missing)} to the ring: if few of its rows are accepted, the "
        "next compression looks for it",
        expected=f"the states of positions {length} to {length + width - 1}",
        actual=f"those without {_some(missing)}",
        evidence=(_written(writes.due(i), missing),),
    )


def _written(due: list[int], missing: list[int]) -> Evidence:
    """The positions that the verify has to write, and which of them it does, from just before the first missing one on."""
    begin = max(due.index(missing[0]) - 2, 0)
    shown = due[begin : begin + SHOWN]
    left_out = f", {len(shown)} of {len(due)} positions" if len(due) > len(shown) else ""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (position, "written", "nothing" if position in missing else "written") for position in shown
    )
    marked = tuple(place for place, position in enumerate(shown) if position in missing)
    columns = ("position", "state due", "state")
    return Evidence(
        title=f"what the verify writes to the ring{left_out}", columns=columns, rows=rows, marked=marked
    )


def _some(positions: list[int]) -> str:
    shown = ", ".join(map(str, positions[:8]))
    return f"position {shown}" if len(positions) == 1 else f"positions {shown}{' …' if positions[8:] else ''}"


def _position(position: int) -> str:
    return "the neutral state" if position < 0 else f"position {position}"


def _holds(rings: RingReads, k: int) -> str:
    """What the ring row holds, in words."""
    if rings.stored[k] < 0:
        return "nothing: it was never written"
    seq = int(rings.cells.seq[rings.stored[k]])
    if rings.found[k] < 0:
        return f"nothing: event {seq} cleared it"
    held = f"position {rings.found[k]}"
    if rings.rejected[k]:
        return f"a rejected draft of {held}, written by event {seq}"
    return f"{held} of another request or life, written by event {seq}" if rings.foreign[k] else f"{held}, written by event {seq}"  # fmt: skip


def _strip(rings: RingReads, cells: Int64s, first: int) -> Evidence:
    """Wanted beside stored, ring row by ring row."""
    begin = int(np.flatnonzero(cells == first)[0])
    shown = cells[begin : begin + SHOWN]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            int(rings.cells.ring_row[rings.read[k]]),
            int(rings.wanted[k]) if rings.wanted[k] >= 0 else "neutral",
            int(rings.found[k]) if rings.found[k] >= 0 else ("neutral" if rings.stored[k] >= 0 else "nothing"),
            number(rings.cells.seq[rings.stored[k]]) if rings.stored[k] >= 0 else None,
            "rejected" if rings.rejected[k] else ("another's" if rings.foreign[k] else ""),
        )
        for k in shown.tolist()
    )  # fmt: skip
    marked = tuple(place for place, k in enumerate(shown.tolist()) if rings.stale[k])
    left_out = f", {len(shown)} of {len(cells)} ring rows" if len(cells) > len(shown) else ""
    columns = ("ring row", "wanted", "stored", "by event", "")
    return Evidence(title=f"wanted and stored{left_out}", columns=columns, rows=rows, marked=marked)
