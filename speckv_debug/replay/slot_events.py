"""Events that name slots or reach into request rows, whatever their table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Pool, Process
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.namespaces import COUNTED
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged
from speckv_debug.replay.unions import EventUnion
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.writes import by_pool, padding_rows, reserved

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
RANGED: Mapping[str, tuple[str, ...]] = {
    **SLOT_COLUMNS,
    "swa_map": ("full_slots", "swa_slots"),
    "page_ref": ("pages",),
}
"""The same, and those that hold ids of another kind: peers in a window's pool, pages kept by counted references."""
PAGED = ("table_write", "page_ref")
"""Tables that name the pages of a sidecar's pool, not its slots."""
OPTIONAL = ("cache", "transfer")
"""Tables of which some kinds name no slots by nature."""


class SlotEvents(EventUnion):
    """Events that name slots; a refused alloc, and a cache or transfer event without slots, are none."""

    def __init__(self, columns: Callable[[str], Columns], verifies: VerifyBatch, info: Process) -> None:
        tables = {name: columns(name) for name in RANGED}
        super().__init__(tables, {name: _named(name, table) for name, table in tables.items()})
        self.info, self.verifies = info, verifies
        windows = [pool.name for pool in info.pools if pool.kind == "swa"]
        self._window = windows[0] if len(windows) == 1 else None
        self._counted = next((pool.name for pool in info.pools if pool.kind == COUNTED), None)

    def bounds(self, table: str) -> Mapping[str, Int64s]:
        """List column → exclusive bound of valid ids for each event of a table, NULL where the pool's size is unknown."""
        size, count = len(self.tables[table]), {pool.name: _bound(pool) for pool in self.info.pools}
        if table in ("accept", "swa_map"):
            main, window = (count.get(name or "", NULL) for name in (self.info.main_pool, self._window))
            bounds = {name: main for name in RANGED[table]} | (
                {"swa_slots": window} if table == "swa_map" else {}
            )
            return {name: np.full(size, bound, dtype=np.int64) for name, bound in bounds.items()}
        if table in PAGED:
            count |= {pool.name: _page_bound(pool) for pool in self.info.pools if _names_pages(pool)}
        pools, absent = self.tables[table].texts("pool"), count.get(self._counted or "", NULL)
        bound = by_pool(pools, self.info, count, NULL)
        bound = np.where(pools.known, bound, absent) if table == "page_ref" else bound
        return dict.fromkeys(RANGED[table], bound)

    def least(self, table: str) -> Int64s:
        """The smallest slot that each event of a table may name: behind the reserved ones where slots are granted.

        What a free names may hold them: engines leave them out themselves.
        """
        if table != "alloc":
            return np.zeros(len(self.tables[table]), dtype=np.int64)
        sizes = {pool.name: pool.reserved_slots or 0 for pool in self.info.pools}
        return by_pool(self.tables[table].texts("pool"), self.info, sizes, 0)

    def pool_of(self, column: str, named: str | None) -> str | None:
        """Name of the pool that the ids of a column are of, by what the event names."""
        unnamed = {"swa_slots": self._window, "pages": self._counted}
        return named or unnamed.get(column, self.info.main_pool)

    def of_pages(self, table: str, named: str | None) -> bool:
        """Whether the ids of an event are those of pages, not of slots."""
        pool = self.info.pool(self.pool_of(RANGED[table][0], named))
        return table in PAGED and pool is not None and _names_pages(pool)

    def masked(self, table: str) -> Mask:
        """Events in which -1 stands for a slot that is not written: rows of a forward or verify that pad the batch."""
        columns = self.tables[table]
        if table == "accept":
            return self.verifies.padding
        return padding_rows(columns) if table == "forward" else np.zeros(len(columns), dtype=np.bool_)

    def slots(self, table: str) -> Mapping[str, Ragged]:
        """The list columns of a table that hold slot ids."""
        return {name: self.tables[table].lists(name) for name in RANGED[table]}


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


def _named(table: str, columns: Columns) -> Mask:
    present = np.zeros(len(columns), dtype=np.bool_)
    for name in RANGED[table]:
        present |= columns.lists(name).present
    if table in OPTIONAL:
        return present
    return (
        present | (columns.flags("granted") != 0)
        if table == "alloc"
        else np.ones(len(columns), dtype=np.bool_)
    )


def _bound(pool: Pool) -> int:
    """Exclusive bound of a pool's slots, NULL where unknown."""
    return NULL if pool.id_bound is None else pool.id_bound


def _page_bound(pool: Pool) -> int:
    """The same of its pages."""
    size = pool.page_size or 0
    return NULL if pool.id_bound is None or size < 1 else -(-pool.id_bound // size)


def _names_pages(pool: Pool) -> bool:
    """Whether request rows and references name the pool's pages."""
    return pool.kind == COUNTED or pool.owner == "sidecar"


def _sum(first: Int64s, second: Int64s) -> Int64s:
    return np.where((first == NULL) | (second == NULL), NULL, first + second)
