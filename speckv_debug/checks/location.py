"""LOC: the addresses that forwards write to and read from."""

from __future__ import annotations

from collections import Counter

import numpy as np

from speckv_debug.checks.evidence import number
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import kept, verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import quantity
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, all_distinct, any_per_list
from speckv_debug.replay.slot_events import DummyRows, RowReaches, SlotEvents
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.writes import ForwardWrites

LOCATE = "eagle_prepare_for_verify → assign_extend_cache_locs_func (out_cache_loc)"


@rule(
    "LOC-ROW",
    severity=ERROR,
    needs=("accept",),
    scope="verifies",
    look_at=LOCATE,
    follows=("LOC-UNIQ", "LOC-RANGE", "OWN-ROW", "LOC-ROW"),
)
def verify_slots_from_row(batch: VerifyBatch) -> Judgement:
    """A verify writes position L + j to the slot that its request row holds there: loc[j] = req_to_token[row, L + j].

    The row is taken as it stood when the slots were built (`table_slots`).

    Exceptions: draft steps may use a layout with holes (only verifies are judged); a row reassigned later does not
    matter; rows that pad the batch.
    """
    if batch.plain:
        return kept(len(batch))
    loc, table = batch.ragged("out_cache_loc"), batch.ragged("table_slots")
    due = table.at(loc.owners, loc.within)
    inside = (loc.within < batch.width[loc.owners]) | (batch.width[loc.owners] == NULL)
    wrong = inside & (due != NULL) & (loc.values != due)
    failed = any_per_list(wrong, loc.owners, len(batch)) & ~batch.padding
    reasons = {
        "no out_cache_loc": ~loc.present & ~batch.padding,
        "no table_slots": ~table.present & ~batch.padding,
        "out_cache_loc is shorter than the verify": (loc.lengths < batch.width) & ~batch.padding,
        "table_slots is shorter than the verify": any_per_list(inside & (due == NULL), loc.owners, len(batch))
        & ~batch.padding,
    }
    return verdict(failed, lambda i: _explain_row(batch, i), reasons)


def _explain_row(batch: VerifyBatch, i: int) -> Details:
    loc, table = batch.ragged("out_cache_loc")[i].tolist(), batch.ragged("table_slots")[i].tolist()
    start = number(batch.seq_len[i])
    rows: list[tuple[Cell, ...]] = []
    wrong = [j for j, (used, due) in enumerate(zip(loc, table, strict=False)) if used != due]
    for j, (used, due) in enumerate(zip(loc, table, strict=False)):
        rows.append((j, None if start is None else start + j, due, used, "✗" if used != due else ""))
    at = f"position {start + wrong[0]}" if start is not None else f"verify row {wrong[0]}"
    return Details(
        message=f"{at} was written to slot {loc[wrong[0]]}, its row says {table[wrong[0]]}{_stale(batch, i, loc)}",
        expected=f"slots {table}",
        actual=f"slots {loc}",
        slots=tuple(dict.fromkeys(slot for j in wrong for slot in (loc[j], table[j]))),
        evidence=(
            Evidence(
                title="verify window",
                columns=("row", "position", "slot due", "slot used", ""),
                rows=tuple(rows),
                marked=tuple(wrong),
            ),
        ),
    )


def _stale(batch: VerifyBatch, i: int, loc: list[int]) -> str:
    """Whether the slots are those of the same request's verify before: addresses of a captured graph."""
    before = np.flatnonzero((batch.row[:i] == batch.row[i]) & (batch.epoch[:i] == batch.epoch[i]))
    if not len(before) or batch.ragged("out_cache_loc")[int(before[-1])].tolist() != loc:
        return ""
    return f": these are the slots of step {number(batch.step[before[-1]])}, the verify before"


@rule(
    "LOC-UNIQ",
    severity=ERROR,
    needs=(),
    scope="writes",
    look_at=LOCATE,
    follows=("LOC-ROW", "LOC-RANGE", "OWN-ALIAS", "OWN-DFREE", "LOC-UNIQ"),
)
def written_slots_distinct(writes: ForwardWrites) -> Judgement:
    """No slot of a pool is written twice by one forward.

    Exceptions: rows that pad the batch and the pool's dummy slots; the target and the draft pool share ids; the steps
    of a draft are forwards of their own.
    """
    failed = np.zeros(len(writes), dtype=np.bool_) if writes.distinct else _written_twice(writes)
    reasons = {"no slots": ~writes.slots.present, "no step tells which rows are of one forward": writes.alone}
    return verdict(failed, lambda i: _explain_uniq(writes, i), reasons)


def _written_twice(writes: ForwardWrites) -> Mask:
    """Rows with a slot that their forward writes twice."""
    slots, owners = writes.slots, writes.slots.owners
    judged = slots.values >= np.maximum(writes.dummy[owners], 0)
    twice = np.zeros(len(owners), dtype=np.bool_)
    twice[np.flatnonzero(judged)] = _repeated(writes.forward[owners][judged], slots.values[judged])
    return any_per_list(twice, owners, len(writes))


def _repeated(group: Int64s, value: Int64s) -> Mask:
    """Which entries share group and value with another one."""
    if all_distinct(group, value):
        return np.zeros(len(group), dtype=np.bool_)
    order = np.lexsort((value, group))
    same = (group[order][1:] == group[order][:-1]) & (value[order][1:] == value[order][:-1])
    found = np.zeros(len(order), dtype=np.bool_)
    found[order[1:][same]] = True
    found[order[:-1][same]] = True
    return found


def _explain_uniq(writes: ForwardWrites, i: int) -> Details:
    mine = writes.slots[i].tolist()
    written = [
        (slot, k, writes.place(j))
        for j in np.flatnonzero(writes.forward == writes.forward[i]).tolist()
        for k, slot in enumerate(writes.slots[j].tolist())
    ]
    counts = Counter(slot for slot, _, _ in written)
    slots = tuple(sorted({slot for slot in mine if slot >= writes.dummy[i] and counts[slot] > 1}))
    shared = sorted(((s, at.seq, k, at) for s, k, at in written if s in slots), key=lambda entry: entry[:3])
    rows: list[tuple[Cell, ...]] = [(slot, at.request, at.row, k, seq) for slot, seq, k, at in shared[:64]]
    return Details(
        message=f"one forward writes slot {slots[0]} twice"
        + (f" ({len(slots)} slots in all)" if slots[1:] else ""),
        expected="distinct slots",
        actual=f"slots written twice: {list(slots)}",
        slots=slots,
        evidence=(
            Evidence(
                title="who writes the slot",
                columns=("slot", "request", "request row", "entry", "seq"),
                rows=tuple(rows),
            ),
        ),
    )


@rule("LOC-RANGE", severity=ERROR, needs=(), scope="slot_events", follows=("LOC-ROW", "LOC-RANGE"))
def slots_in_range(events: SlotEvents) -> Judgement:
    """Every slot lies in its pool: 0 <= slot < slots + reserved; the reserved ones are never granted.

    Exceptions: -1 in a row of a forward or verify that pads the batch, where it is masked; the reserved dummy page counts; a
    free may name it, since engines leave it out themselves; pools have sizes of their own; peers of a window (`swa_map`) lie
    in its pool; where a sidecar row or a reference names pages, these lie below the pool's number of pages.
    """
    failed, bare, unsized = (np.zeros(len(events), dtype=np.bool_) for _ in range(3))
    for table, rows in events.rows.items():
        bounds, masked, least = events.bounds(table), events.masked(table), events.least(table)
        outside, named, endless = (np.zeros(len(masked), dtype=np.bool_) for _ in range(3))
        for name, slots in events.slots(table).items():
            outside |= _outside(slots, least, bounds[name], masked)
            named |= slots.present
            endless |= bounds[name] == NULL
        if (outside | ~named | endless).any():
            at = events.at[table]
            failed[at], bare[at], unsized[at] = outside[rows], ~named[rows], endless[rows]
    reasons = {"no slots": bare, "the pool's size is not known": unsized}
    return verdict(failed, lambda i: _explain_range(events, i), reasons)


def _outside(slots: Ragged, least: Int64s, bound: Int64s, masked: Mask) -> Mask:
    """Events with a slot that lies outside what they may name; -1 is masked in some."""
    endless = np.iinfo(np.int64).max
    bound = np.where(bound == NULL, endless, bound)
    lowest, highest = slots.values.min(initial=endless), slots.values.max(initial=0)
    if lowest >= least.max(initial=0) and highest < bound.min(initial=endless):
        return np.zeros(len(bound), dtype=np.bool_)
    limit = bound[slots.owners]
    low = (slots.values < least[slots.owners]) & ~(masked[slots.owners] & (slots.values == -1))
    return any_per_list(low | (slots.values >= limit), slots.owners, len(bound))


def _explain_range(events: SlotEvents, i: int) -> Details:
    table, row = events.event(i)
    bounds = {name: number(bound[row]) for name, bound in events.bounds(table).items()}
    least, place = int(events.least(table)[row]), events.place(i)
    rows: list[tuple[Cell, ...]] = []
    for name, column in events.slots(table).items():
        bound = bounds[name]
        for k, slot in enumerate(column[row].tolist()):
            if slot < least or (bound is not None and slot >= bound):
                rows.append((name, k, slot))
    wild = tuple(dict.fromkeys(int(str(row[2])) for row in rows))
    first, of_pages = str(rows[0][0]), events.of_pages(table, place.pool)
    unit, pool = "page" if of_pages else "slot", events.pool_of(first, place.pool)
    where = "is a reserved one of" if 0 <= wild[0] < least else "lies outside"
    return Details(
        message=f"{table} names {unit} {wild[0]}, which {where} pool {pool}",
        expected=f"{unit}s in [{least}, {bounds[first]})"
        if bounds[first] is not None
        else f"{least} or more",
        actual=f"{list(wild[:8])}{' …' if wild[8:] else ''}",
        slots=None if of_pages else wild[:64],
        pages=wild[:64] if of_pages else None,
        evidence=(
            Evidence(
                title=f"{table} at seq {place.seq}", columns=("list", "entry", unit), rows=tuple(rows[:64])
            ),
        ),
    )


@rule(
    "LOC-PAD",
    severity=ERROR,
    needs=(),
    scope="dummy_rows",
    look_at="the padding of a captured or idle batch (out_cache_loc 0, req_pool_idx 0)",
)
def pads_write_dummy(rows: DummyRows) -> Judgement:
    """Rows that pad a batch, and idle ranks, write to the pool's dummy slots only.

    Exceptions: -1 is masked by the kernel; any slot of the reserved dummy page may be hit; before the first allocation of
    the process (warm-up, graph capture) no slot is anybody's.
    """
    failed, bare = np.zeros(len(rows), dtype=np.bool_), np.zeros(len(rows), dtype=np.bool_)
    for table, chosen in ((table, chosen) for table, chosen in rows.rows.items() if len(chosen)):
        slots = rows.slots(table)
        live = (slots.values >= rows.dummy(table)[slots.owners]) | (slots.values < -1)
        failed[rows.at[table]] = any_per_list(live, slots.owners, len(slots))[chosen]
        bare[rows.at[table]] = ~slots.present[chosen]
    if failed.any():
        failed &= rows.seq >= rows.first_alloc
    return verdict(failed, lambda i: _explain_pad(rows, i), {"no slots": bare})


def _explain_pad(rows: DummyRows, i: int) -> Details:
    table, row = rows.event(i)
    dummy = int(rows.dummy(table)[row])
    written = rows.slots(table)[row].tolist()
    live = tuple(slot for slot in written if slot >= dummy or slot < -1)
    place = rows.place(i)
    return Details(
        message=f"a row that only pads the batch writes to slots of others: {list(live[:8])}",
        expected=f"slots below {dummy}" if dummy > 1 else "slot 0",
        actual=f"slots {written[:16]}, through request row {place.row}",
        slots=live,
        evidence=(
            Evidence(
                title=f"{table} at seq {place.seq}",
                columns=("entry", "slot", ""),
                rows=tuple(
                    (k, slot, "✗" if slot in live else "dummy") for k, slot in enumerate(written[:64])
                ),
                marked=tuple(k for k, slot in enumerate(written[:64]) if slot in live),
            ),
        ),
    )


@rule(
    "LOC-WIDTH",
    severity=ERROR,
    needs=(),
    scope="row_reaches",
    look_at="ReqToTokenPool (max_context_len + headroom)",
    follows=("LOC-WIDTH",),
)
def row_wide_enough(reaches: RowReaches) -> Judgement:
    """What a request uses of its row fits into it: start + length, committed + reserve and L + w are <= row width.

    Exceptions: the width includes head-room; a sidecar's rows have a width of their own.
    """
    width = reaches.row_width
    if width is not None and reaches.all_within(width):
        return kept(len(reaches))
    ends = reaches.ends()
    failed = np.zeros(len(reaches), dtype=np.bool_) if width is None else ends > width
    no_width = np.full(len(reaches), width is None)
    reasons = {"the row width is not known": no_width, "no length": ends == NULL}
    return verdict(failed, lambda i: _explain_width(reaches, i, int(ends[i])), reasons)


def _explain_width(reaches: RowReaches, i: int, end: int) -> Details:
    width = reaches.row_width or 0
    table, _ = reaches.event(i)
    row = reaches.place(i).row
    neighbour = "the row behind it" if row is None else f"row {row + 1}"
    rows: tuple[tuple[Cell, ...], ...] = (
        ("row ends at", width),
        (f"{table} reaches to", end),
        ("spill", end - width),
    )
    return Details(
        message=f"request row {row} is {quantity(end - width, 'entry', 'entries')} too narrow: what spills lands in {neighbour}",
        expected=f"an end of at most {width}",
        actual=f"{table} up to {end}",
        evidence=(Evidence(title="row width", columns=("", "entries"), rows=rows, marked=(2,)),),
    )
