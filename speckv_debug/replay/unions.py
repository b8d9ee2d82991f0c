"""Events of several tables as one scope, in the order of `seq`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import Int64s, Mask


class EventUnion:
    """One instance an event. `rows[table]` are the events that take part, `at[table]` their instance indices."""

    def __init__(self, tables: Mapping[str, Columns], chosen: Mapping[str, Mask]) -> None:
        self.tables = dict(tables)
        self.rows = {name: np.flatnonzero(chosen[name]) for name in tables}
        seqs = [columns.ints("seq")[self.rows[name]] for name, columns in tables.items()]
        merged = np.concatenate((np.empty(0, np.int64), *seqs))
        order = np.argsort(merged, kind="stable")
        self.seq: Int64s = merged[order]
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        ends = np.cumsum([len(part) for part in seqs])
        self.at: dict[str, Int64s] = {
            name: rank[end - len(part) : end]
            for name, part, end in zip(tables, seqs, ends.tolist(), strict=True)
        }

    def __len__(self) -> int:
        return sum(len(rows) for rows in self.rows.values())

    def place(self, index: int) -> Place:
        """Where the event stands."""
        table, row = self.event(index)
        return place_of(self.tables[table], row)

    def kind(self, index: int) -> str:
        """The event's table."""
        return self.event(index)[0]

    def event(self, index: int) -> tuple[str, int]:
        """Table and row of an instance."""
        for table, at in self.at.items():
            found = int(np.searchsorted(at, index))
            if found < len(at) and at[found] == index:
                return table, int(self.rows[table][found])
        raise IndexError(index)
