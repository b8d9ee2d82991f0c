"""Events that name slots or reach into request rows, whatever their table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, mask
from speckv_debug.replay.unions import EventUnion
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.writes import by_pool, reserved

SLOT_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "alloc": ("slots",),
    "free": ("slots",),
    "table_write": ("slots",),
    "move": ("src", "tgt"),
    "accept": ("out_cache_loc", "table_slots"),
    "forward": ("slots",),
    "cache": ("slots",),
    "transfer": ("slots",),
}
"""List columns that hold slot ids."""
OPTIONAL = ("cache", "transfer")
"""Tables of which some kinds name no slots by nature."""


class SlotEvents(EventUnion):
    """Events that name slots; a refused alloc, and a cache or transfer event without slots, are none."""

    def __init__(self, columns: Callable[[str], Columns], verifies: VerifyBatch, info: Process) -> None:
        tables = {name: columns(name) for name in SLOT_COLUMNS}
        super().__init__(tables, {name: _named(name, table) for name, table in tables.items()})
        self.info, self.verifies = info, verifies

    def bounds(self, table: str) -> Int64s:
        """Exclusive bound of valid ids for each event of a table, NULL where the pool's size is unknown."""
        sizes = {pool.name: pool.id_bound for pool in self.info.pools}
        known = {name: NULL if bound is None else bound for name, bound in sizes.items()}
        if table == "accept":
            return np.full(len(self.tables[table]), known.get(self.info.main_pool, NULL), dtype=np.int64)
        return by_pool(self.tables[table].texts("pool"), self.info, known, NULL)

    def masked(self, table: str) -> Mask:
        """Events in which -1 stands for a slot that is not written: rows of a forward or verify that pad the batch."""
        columns = self.tables[table]
        if table == "accept":
            return self.verifies.padding
        return padding_rows(columns) if table == "forward" else np.zeros(len(columns), dtype=np.bool_)

    def slots(self, table: str) -> Mapping[str, Ragged]:
        """The list columns of a table that hold slot ids."""
        return {name: self.tables[table].lists(name) for name in SLOT_COLUMNS[table]}


class DummyRows(EventUnion):
    """Rows of a forward that are padded or idle, and verifies that pad the batch."""

    def __init__(
        self,
        columns: Callable[[str], Columns],
        verifies: VerifyBatch,
        info: Process,
        first_alloc: int | None = None,
    ) -> None:
        tables = {"forward": columns("forward"), "accept": verifies.columns}
        super().__init__(tables, {"forward": padding_rows(tables["forward"]), "accept": verifies.padding})
        self.info = info
        alloc = columns("alloc").ints("seq")
        self._first_alloc = first_alloc if first_alloc is not None else int(alloc[0]) if len(alloc) else 0

    @property
    def first_alloc(self) -> int:
        """`seq` of the process's first allocation, 0 where the recording may not hold it."""
        return self._first_alloc if self.info.from_start and self.info.records("alloc") else 0

    def slots(self, table: str) -> Ragged:
        """The slots written."""
        return self.tables[table].lists("slots" if table == "forward" else "out_cache_loc")

    def dummy(self, table: str) -> Int64s:
        """Slots below this are the pool's dummy, for each row of a table."""
        sizes = {pool.name: reserved(pool) for pool in self.info.pools}
        if table == "accept":
            return np.full(len(self.tables[table]), sizes.get(self.info.main_pool, 1), dtype=np.int64)
        return by_pool(self.tables[table].texts("pool"), self.info, sizes, 1)


class RowReaches(EventUnion):
    """Events that say how far a row of req_to_token is used: a write, a reserve, a verify.

    Rows of another pool's table (a sidecar's) have a width of their own and are left out.
    """

    def __init__(self, columns: Callable[[str], Columns], verifies: VerifyBatch, info: Process) -> None:
        tables = {name: columns(name) for name in ("table_write", "reserve", "accept")}
        pool = tables["table_write"].texts("pool")
        chosen = {
            "table_write": pool.equal(info.main_pool) | ~pool.known,
            "reserve": np.ones(len(tables["reserve"]), dtype=np.bool_),
            "accept": ~verifies.padding,
        }
        super().__init__(tables, chosen)
        self.info, self.verifies = info, verifies

    @property
    def row_width(self) -> int | None:
        """Columns of req_to_token, None if not recorded."""
        width = self.info.settings.get("row_width")
        return width if isinstance(width, int) else None

    def ends(self) -> Int64s:
        """Exclusive end of what each instance uses of its row, NULL where unknown."""
        found = np.full(len(self), NULL, dtype=np.int64)
        for table, end in self._ends_of.items():
            found[self.at[table]] = end
        return found

    def all_within(self, width: int) -> bool:
        """Whether all of them are known, and none lies beyond the width."""
        return all(end.min(initial=0) >= 0 and end.max(initial=0) <= width for end in self._ends_of.values())

    @cached_property
    def _ends_of(self) -> Mapping[str, Int64s]:
        """The same of each table's instances."""
        writes, reserves = self.tables["table_write"], self.tables["reserve"]
        slots = writes.lists("slots")
        written = _sum(writes.ints("start"), np.where(slots.present, slots.lengths, NULL))
        wanted = _sum(reserves.ints("committed"), reserves.ints("reserve"))
        verified = _sum(self.verifies.seq_len, self.verifies.width)
        grown = np.maximum(wanted, reserves.ints("new_allocated"))
        ends = {"table_write": written, "reserve": grown, "accept": verified}
        return {table: end[self.rows[table]] for table, end in ends.items()}


def padding_rows(forward: Columns) -> Mask:
    """Rows of `forward` that stand for no request: padded or idle ones."""
    return mask(forward.texts("mode").equal("idle") | (forward.flags("padded") == 1))


def _named(table: str, columns: Columns) -> Mask:
    present = np.zeros(len(columns), dtype=np.bool_)
    for name in SLOT_COLUMNS[table]:
        present |= columns.lists(name).present
    if table in OPTIONAL:
        return present
    return (
        present | (columns.flags("granted") != 0)
        if table == "alloc"
        else np.ones(len(columns), dtype=np.bool_)
    )


def _sum(first: Int64s, second: Int64s) -> Int64s:
    return np.where((first == NULL) | (second == NULL), NULL, first + second)
