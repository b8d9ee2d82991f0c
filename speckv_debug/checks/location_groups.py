"""LOC-GROUP: layers of several KV groups look up their slots in the table of their own group."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import number
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.replay.grouped_reads import GroupedForwards
from speckv_debug.replay.ragged import Int64s, mask

SHOWN = 8


@rule(
    "LOC-GROUP",
    severity=ERROR,
    needs=("forward", "table_write"),
    scope="grouped_forwards",
    look_at="init_forward_metadata, translate_loc_from_full_to_swa (slots of each attention group)",
    follows=("LOC-ROW", "OWN-MAP"),
)
def slots_of_the_own_group(forwards: GroupedForwards) -> Judgement:
    """The slots that a group's layers use come from the table of that group, or of the pool that is written.

    A sliding window's slots without a table of their own are those that `swa_map` gives for the request row's. Entries of C4
    without one follow from the slot of the last of their 4 positions: `s // 4`, where `s % 4 = 3`.

    Exceptions: groups may share one table; positions whose entry is not known, as that of a slot without a peer, are passed
    over; so is the forward of a request whose row has ended, since its slots may be mapped for others; draft forwards are not
    judged, their layout may have holes.
    """
    reasons = {
        "no entry of the group's table is known at these positions": forwards.undue,
        "the request's row has ended before": forwards.over & forwards.strayed,
        "the group's table was not recorded whole": forwards.strayed & ~forwards.evident,
    }
    failed = mask(forwards.strayed & ~forwards.over & forwards.evident)
    return verdict(failed, lambda i: _explain(forwards, i), reasons)


def _explain(forwards: GroupedForwards, i: int) -> Details:
    due, of = forwards.tables[int(forwards.due[i])], int(forwards.from_other[i])
    by = f"by the table of {forwards.tables[of]}" if of >= 0 else "by no recorded table"
    wrong = _wrong(forwards, i)
    entries, used = _entries_due(forwards, i), forwards.slots[i]
    at = int(wrong[0])
    where = _where(forwards, i, at)
    source = (
        f"of the table of {forwards.tables[of]}" if of >= 0 else f"that are not those of the table of {due}"
    )
    return Details(
        message=f"the forward uses slots {source} for its layers of {due}, from {where} on",
        expected=f"slot {number(entries[at])} at {where}, by the table of {due}",
        actual=f"slot {number(used[at])}, {by}",
        slots=tuple(int(slot) for slot in used[wrong]),
        subject=due,
        evidence=(_positions(forwards, i, due, by),),
    )


def _where(forwards: GroupedForwards, i: int, at: int) -> str:
    """The position of a slot, of an entry of C4 its place in the list."""
    return f"place {at} of its list" if forwards.derived(i) else f"position {forwards.start(i) + at}"


def _wrong(forwards: GroupedForwards, i: int) -> Int64s:
    """Offsets from the start of an instance at which its slots are not those due."""
    first, end = (int(forwards.slots.offsets[k]) for k in (i, i + 1))
    return np.flatnonzero(forwards.apart[first:end])


def _entries_due(forwards: GroupedForwards, i: int) -> Int64s:
    first, end = (int(forwards.slots.offsets[k]) for k in (i, i + 1))
    return forwards.entries[int(forwards.due[i])][first:end]


def _positions(forwards: GroupedForwards, i: int, due: str, by: str) -> Evidence:
    wrong, used, entries = _wrong(forwards, i), forwards.slots[i], _entries_due(forwards, i)
    begin, unit = (0, "place") if forwards.derived(i) else (forwards.start(i), "position")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (begin + k, number(entries[k]), number(used[k])) for k in wrong[:SHOWN].tolist()
    )
    more = f", the first {SHOWN} of {len(wrong)}" if len(wrong) > SHOWN else ""
    return Evidence(
        title=f"{unit}s{more}",
        columns=(unit, f"slot of {due}", f"slot used ({by})"),
        rows=rows,
        marked=tuple(range(len(rows))),
    )
