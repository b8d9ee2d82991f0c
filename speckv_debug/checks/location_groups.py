"""LOC-GROUP: layers of several KV groups look up their slots in the table of their own group."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import number
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.replay.grouped_reads import GroupedForwards
from speckv_debug.replay.ragged import mask

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

    A sliding window's slots without a table of their own are those that `swa_map` gives for the request row's.

    Exceptions: groups may share one table; slots that are in no group's table at these positions are unknown here; draft
    forwards are not judged, their layout may have holes.
    """
    wrong = forwards.from_other >= 0
    reasons = {
        "no entry of the group's table is known at these positions": forwards.undue,
        "the slots are in no recorded table at these positions": forwards.unplaced,
    }
    return verdict(mask(wrong), lambda i: _explain(forwards, i), reasons)


def _explain(forwards: GroupedForwards, i: int) -> Details:
    due, other = (forwards.tables[int(of[i])] for of in (forwards.due, forwards.from_other))
    first, end = (int(forwards.slots.offsets[k]) for k in (i, i + 1))
    wrong = np.flatnonzero(forwards.apart[first:end])
    start = forwards.start(i)
    entries = forwards.entries[int(forwards.due[i])][first:end]
    used = forwards.slots[i]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (start + k, number(entries[k]), number(used[k])) for k in wrong[:SHOWN].tolist()
    )
    more = f", the first {SHOWN} of {len(wrong)}" if len(wrong) > SHOWN else ""
    at = int(wrong[0])
    return Details(
        message=f"the forward uses slots of the table of {other} for its layers of {due}, from position {start + at} on",
        expected=f"slot {number(entries[at])} at position {start + at}, by the table of {due}",
        actual=f"slot {number(used[at])}, by the table of {other}",
        slots=tuple(int(slot) for slot in used[wrong]),
        evidence=(
            Evidence(
                title=f"positions{more}",
                columns=("position", f"slot of {due}", f"slot used (of {other})"),
                rows=rows,
                marked=tuple(range(len(rows))),
            ),
        ),
    )
