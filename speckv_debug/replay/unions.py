"""Events of several tables as one scope, in the order of `seq`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import Int64s, Mask


def none_of(tables: Mapping[str, Columns]) -> Mapping[str, Mask]:
    """No event of any table, without a look at one."""
    return {name: np.empty(0, dtype=np.bool_) for name in tables}


class EventUnion:
    """One instance an event. `rows[table]` are the events that take part, `at[table]` their instances."""

    def __init__(self, tables: Mapping[str, Columns], chosen: Mapping[str, Mask]) -> None:
        self.tables = dict(tables)
        self.rows = {name: np.flatnonzero(chosen[name]) for name in tables}

    @cached_property
    def _unsorted(self) -> Int64s:
        seqs = [columns.ints("seq")[self.rows[name]] for name, columns in self.tables.items()]
        return np.concatenate((np.empty(0, np.int64), *seqs))

    @cached_property
    def _order(self) -> Int64s:
        return np.argsort(self._unsorted, kind="stable")

    @cached_property
    def seq(self) -> Int64s:
        """`seq` of each instance."""
        return self._unsorted[self._order]

    @cached_property
    def at(self) -> Mapping[str, Int64s]:
        """Table → instance indices of the events that take part."""
        rank = np.empty(len(self._order), dtype=np.int64)
        rank[self._order] = np.arange(len(self._order))
        counts = [len(self.rows[name]) for name in self.tables]
        ends = np.cumsum(counts).tolist()
        spans = zip(self.tables, counts, ends, strict=True)
        return {name: rank[end - count : end] for name, count, end in spans}

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
