"""Rows that the recorder dropped: what they may have touched is unknown, before the note of it and after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.replay.ledger_events import TABLES
from speckv_debug.replay.ledger_facts import FAIL, JUDGED
from speckv_debug.replay.left_out import why_dropped
from speckv_debug.replay.ragged import NULL

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger

HARMLESS = ("forward", "accept", "pool_stat", "move", "compact", "reserve", "note", "state_clear")


VITAL = {
    "cache": ("action",),
    "free_group": ("action", "group"),
    "release": ("kind",),
    "row_alloc": ("row",),
    "row_free": ("row",),
    "table_write": ("row", "start"),
}
"""Columns without which an event may have done anything to any page or row."""


def untold(ledger: Ledger) -> Iterator[tuple[int, str]]:
    """Behind which `seq` nothing is known because an event does not say what it did, and why."""
    for table, names in VITAL.items():
        columns = ledger.events.table(table).columns
        for name in names:
            if len(columns) and not (name == "group" and ledger.groups.nameless):
                for seq in columns.ints("seq")[columns.absent(name)].tolist():
                    yield seq + 1, f"events of {table} have no {name}"


def forget(ledger: Ledger, index: int) -> None:
    """Rows of a table that moves pages are missing: nothing is known until it is seen again."""
    rows = ledger.events.rows["drop"]
    table = rows.texts("table")[index]
    if table not in HARMLESS:
        ledger.lose(why_dropped(rows.columns, index))
        if rows.ints("rows")[index] != 0:  # where an event was left out is known exactly
            ledger.dropped.append((_since(ledger, index), rows.ints("seq")[index], ledger.why))


def unproven(ledger: Ledger) -> None:
    """What looks broken around the step whose rows were dropped may be the loss."""
    for first, last, why in ledger.dropped:
        for law, tables in JUDGED.items():
            for table in tables:
                codes, seq = ledger.facts.codes[law, table], ledger.events.table(table).columns.ints("seq")
                for index in np.flatnonzero((seq >= first) & (seq <= last)).tolist():
                    codes[index] = why if codes[index] == FAIL else codes[index]
        for end in ledger.facts.ends:
            end.code = why if end.code == FAIL and first <= end.seq <= last else end.code


def _since(ledger: Ledger, index: int) -> int:
    """First `seq` of the step before the one in which the drop stands: a note of a drop may come late."""
    rows = ledger.events.rows["drop"]
    seq, step = rows.ints("seq")[index], rows.ints("step")[index]
    columns = [ledger.events.table(name).columns for name in TABLES]
    seqs, steps = (np.concatenate([c.ints(name) for c in columns]) for name in ("seq", "step"))
    before = (seqs <= seq) & (steps != NULL)
    if not before.any():
        return 0
    if step == NULL:
        step = int(steps[before][np.argmax(seqs[before])])
    of_step = before & ((steps == step) | (steps == step - 1))
    return int(seqs[of_step].min()) if of_step.any() else seq
