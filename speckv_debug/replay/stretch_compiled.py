"""Columns of one table brought to the rows of its events among those of all tables."""

from __future__ import annotations

from speckv_debug.replay.compiling import Array, compiled


@compiled
def place(events: Array, at: Array, columns: Array, values: Array, first: int) -> None:
    """`events[at[i], columns[k]] = values[k, first + i]`, all int64."""
    for i in range(len(at)):
        for k in range(len(columns)):
            events[at[i], columns[k]] = values[k, first + i]
