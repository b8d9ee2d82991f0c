"""Rows of forwards beside the tables of all KV groups: which group's table their slots were looked up in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.derived_entries import derived_entries, derived_pools
from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, any_per_list, mask
from speckv_debug.replay.replayed_tables import RowWrites
from speckv_debug.replay.row_ends import ended_before
from speckv_debug.replay.searching import search_pairs
from speckv_debug.replay.writes import by_pool

MODES = ("extend", "decode", "target_verify")
SWA, C4 = "swa", "c4"
OF_POSITIONS = ("full", SWA, "draft", "indexer")
"""Kinds of pools whose tables name a slot a position; a sidecar row names pages."""


@dataclass(frozen=True, slots=True)
class RowReads:
    """Who looks up a row from which position on; int64 each, NULL where unknown."""

    seq: Int64s
    step: Int64s
    row: Int64s
    epoch: Int64s
    seq_len: Int64s

    def __len__(self) -> int:
        return len(self.seq)


class GroupedForwards:
    """One instance a request's rows in a forward of the target, in a process with tables of more than one KV group.

    A group has a table of its own, or its slots follow from those of the main table (`swa_map`; entries of C4 by the
    number of the slot), or it shares that table. Its table is that of the pool that `group` names, else of the pool that is written.

    Attributes:
        tables: Names of the groups whose tables are known.
    """

    reads = ("forward", "table_write", "swa_map", "row_free", "alloc")

    def __init__(self, columns: Callable[[str], Columns], info: Process) -> None:
        self._columns, self.info, self.spaces = columns, info, Namespaces(info)
        self.columns, self._writes, self._map = columns("forward"), columns("table_write"), columns("swa_map")
        self.tables = self._tables()
        self._rows = np.flatnonzero(self._counted) if len(self.tables) > 1 else np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    def place(self, index: int) -> Place:
        """Where the rows stand."""
        return place_of(self.columns, int(self._rows[index]))

    def start(self, index: int) -> int:
        """The position of an instance's first slot."""
        return int(self.columns.ints("start")[self._rows[index]])

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the beginning of the recording: a write that is lost may have been the last."""
        seq = self.columns.ints("seq")[self._rows]
        return np.zeros(len(seq), dtype=np.int64), seq

    def derived(self, index: int) -> bool:
        """Whether an instance's slots are entries of groups of positions, one behind another."""
        return self.tables[int(self.due[index])] in self._derived

    @cached_property
    def slots(self) -> Ragged:
        """The slots of each instance."""
        return self.columns.lists("slots").take(self._rows)

    @cached_property
    def due(self) -> Int64s:
        """Which of `tables` each instance belongs to."""
        of = {name: self._table_of(name) for name in self._names()}
        groups = self.columns.texts("group")
        of_group = np.array([of.get(name, -1) if name in self._pools else -1 for name in groups.names] + [-1])
        named = of_group[groups.codes][self._rows]
        written = by_pool(self.columns.texts("pool"), self.info, of, -1)[self._rows]
        return np.where(named >= 0, named, written).astype(np.int64)

    @cached_property
    def entries(self) -> list[Int64s]:
        """For each table what it holds at the positions of the slots, parallel to `slots.values`; NULL if unknown."""
        return [self._entries_of(name) for name in self.tables]

    @cached_property
    def apart(self) -> Mask:
        """Slots, parallel to `slots.values`, that are not those of the table due."""
        due = self._due_entries
        return mask((due != NULL) & (self.slots.values != NULL) & (due != self.slots.values))

    @cached_property
    def strayed(self) -> Mask:
        """Instances with slots that are not those of the table due."""
        return any_per_list(self.apart, self.slots.owners, len(self))

    @cached_property
    def evident(self) -> Mask:
        """Instances whose table was recorded whole: what was written last still stands."""
        of_table = [self._recorded(name) for name in self.tables]
        return mask(np.array([*of_table, False])[self.due])

    def _recorded(self, table: str) -> bool:
        records = self.info.records
        return records("table_write") and (not self._follows_map(table) or records("swa_map"))

    @cached_property
    def from_other(self) -> Int64s:
        """Which other table holds exactly what was used where it is not what is due; -1 if none does, or nothing is apart."""
        found = np.full(len(self), -1, dtype=np.int64)
        owners = self.slots.owners
        for number, entries in enumerate(self.entries):
            off = any_per_list(self.apart & (entries != self.slots.values), owners, len(self))
            found[self.strayed & ~off & (found < 0) & (self.due != number)] = number
        return found

    @cached_property
    def over(self) -> Mask:
        """Instances whose life in the row had ended before: its slots may have been mapped for others since."""
        return ended_before(self._columns("row_free"), self.columns, self._rows)

    @cached_property
    def undue(self) -> Mask:
        """Instances of which no entry of the table due is known."""
        known = any_per_list(mask(self._due_entries != NULL), self.slots.owners, len(self))
        return mask(~known | (self.due < 0))

    @cached_property
    def _due_entries(self) -> Int64s:
        due = np.full(len(self.slots.values), NULL, dtype=np.int64)
        for number, entries in enumerate(self.entries):
            mine = self.due[self.slots.owners] == number
            due[mine] = entries[mine]
        return due

    @property
    def _counted(self) -> Mask:
        forward = self.columns
        told = forward.lists("slots").filled & (forward.ints("start") != NULL) & (forward.ints("row") != NULL)
        return mask(told & forward.texts("mode").equal(*MODES) & (forward.flags("padded") != 1))

    @cached_property
    def _pools(self) -> dict[str, str]:
        return {pool.name: pool.kind for pool in self.info.pools}

    def _names(self) -> list[str]:
        named = (*self.columns.texts("pool").names, *self.columns.texts("group").names, self.info.main_pool)
        return list(dict.fromkeys(named))

    def _tables(self) -> tuple[str, ...]:
        """The main table, those of pools with slots of their own, and a window's that follows from the main one."""
        main = self.info.main_pool
        others = {space.name for space in self.spaces.all} - {main}
        own = sorted(name for name in others if self._pools.get(name) in OF_POSITIONS)
        if own:
            numbers = np.unique(self.spaces.indices(self._writes.texts("pool"))).tolist()
            written = {self.spaces.all[number].name for number in numbers}
            own = [name for name in own if name in written]
        mapped = [name for name, kind in self._pools.items() if kind == SWA and len(self._map)]
        return tuple(dict.fromkeys((main, *own, *mapped, *self._derived)))

    @cached_property
    def _derived(self) -> list[str]:
        """Pools of C4 entries that forwards name and that have no slots or tables of their own."""
        entries = {name for name, kind in self._pools.items() if kind == C4}
        if not entries or not (names := set(self._names())) & entries:
            return []
        given = (self._writes, self._columns("alloc"))
        taken = np.concatenate([self.spaces.indices(table.texts("pool")) for table in given])
        found = derived_pools(self._pools, self.spaces, set(np.unique(taken).tolist()))
        return [name for name in found if name in names]

    def _table_of(self, pool: str) -> int:
        name = self.spaces.all[self.spaces.index(pool)].name
        return self.tables.index(name) if name in self.tables else -1

    def _entries_of(self, table: str) -> Int64s:
        if table in self._derived:
            return self._derived_entries(table)
        if self._follows_map(table):
            return self._mapped(self._written(self.info.main_pool))
        return self._written(table)

    def _follows_map(self, table: str) -> bool:
        """Whether it is a window's that has no table of its own."""
        return self._pools.get(table) == SWA and not (self._written(table) != NULL).any()

    def _written(self, table: str) -> Int64s:
        take = [self.columns.ints(name)[self._rows] for name in ("seq", "step", "row", "epoch", "start")]
        writes = RowWrites(self._writes, RowReads(*take), self.spaces, self.spaces.index(table))
        return writes.windows(self.slots.lengths).slots

    def _derived_entries(self, table: str) -> Int64s:
        """Entries of C4, of the forwards that are due to use them."""
        mine = np.flatnonzero(self.due == self.tables.index(table))
        found = np.full(len(self.slots.values), NULL, dtype=np.int64)
        rows, slots = self._rows[mine], self.slots.take(mine)

        def main(owners: Int64s, positions: Int64s) -> Int64s:
            seq, step, row, epoch = (
                self.columns.ints(name)[rows[owners]] for name in ("seq", "step", "row", "epoch")
            )
            reads = RowReads(seq, step, row, epoch, positions)
            writes = RowWrites(self._writes, reads, self.spaces, self.spaces.main)
            return writes.windows(np.ones(len(owners), dtype=np.int64)).slots

        positions, start = self.columns.lists("positions").take(rows), self.columns.ints("start")[rows]
        found[np.isin(self.slots.owners, mine)] = derived_entries(slots, positions, start, main)
        return found

    def _mapped(self, full: Int64s) -> Int64s:
        """The window's slot that each full slot is mapped to at the time of its forward; NULL if none is known."""
        keys, values = self._map.lists("full_slots"), self._map.lists("swa_slots")
        seq, to = self._map.ints("seq")[keys.owners], values.at(keys.owners, keys.within)
        order = np.lexsort((seq, keys.values))
        key, seq, to = keys.values[order], seq[order], to[order]
        at = (
            search_pairs(
                key,
                seq,
                np.where(full == NULL, 0, full),
                self.columns.ints("seq")[self._rows][self.slots.owners],
            )
            - 1
        )
        hit = (at >= 0) & (full != NULL)
        hit[hit] = key[at[hit]] == full[hit]
        found = np.full(len(full), NULL, dtype=np.int64)
        found[hit] = to[at[hit]]
        return np.where(found == 0, NULL, found)
