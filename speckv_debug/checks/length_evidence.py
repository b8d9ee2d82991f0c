"""The small tables that prove a finding about a length."""

from __future__ import annotations

import numpy as np

from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.replay.continuity import Successions
from speckv_debug.replay.lengths import Lengths

SHOWN = 8


def two_verifies(verifies: Successions, i: int) -> Evidence:
    """This verify and the one before it."""
    columns = verifies.columns
    names = ("seq", "step", "seq_len", "accept_len", "new_seq_len")
    events = [int(verifies.before[i]), int(verifies.index[i])]
    rows = tuple(tuple(columns.int_at(n, e) for n in names) for e in events if e >= 0)
    return Evidence(title="verifies of the request", columns=names, rows=rows, marked=(len(rows) - 1,))


def lengths_of(lengths: Lengths, life: int, until_seq: int) -> Evidence:
    """Accepts, lengths and ends of one life of a row, up to an event, which is marked."""
    tables = ("accept", "lengths", "release", "row_free")
    found = [row for table in tables for row in _told(lengths, table, life) if row[0] <= until_seq]
    found.sort(key=lambda row: row[0])
    left_out = f", the last {SHOWN} of {len(found)} events" if len(found) > SHOWN else ""
    rows = tuple((seq, *cells) for seq, cells in found[-SHOWN:])
    columns = ("seq", "step", "event", "accept_len", "committed", "allocated", "cause")
    return Evidence(
        title=f"lengths of the request{left_out}", columns=columns, rows=rows, marked=(len(rows) - 1,)
    )


def _told(lengths: Lengths, table: str, life: int) -> list[tuple[int, tuple[Cell, ...]]]:
    """`seq` and what an event says of lengths."""
    columns = lengths.columns(table)
    cause = {"lengths": "cause", "release": "kind"}.get(table)
    found = []
    for row in np.flatnonzero(lengths.lives.of(table) == life).tolist():
        numbers = (columns.int_at(name, row) for name in ("accept_len", "committed", "allocated"))
        why = columns.text_at(cause, row) if cause else None
        found.append((int(columns.ints("seq")[row]), (columns.int_at("step", row), table, *numbers, why)))
    return found
