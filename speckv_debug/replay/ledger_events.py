"""The events that move pages about, as the ledger reads them: one event at a time, pages worked out when asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from speckv_debug.model.process import Process
from speckv_debug.replay.columns import Columns, Texts
from speckv_debug.replay.ledger_book import PageBook
from speckv_debug.replay.namespaces import Namespace, Namespaces, PageLists
from speckv_debug.replay.ragged import NULL, Int64s, Ragged
from speckv_debug.replay.window_writes import WindowWrites

TABLES = (
    "alloc", "free", "free_group", "table_write", "row_alloc", "row_free", "lengths", "release", "cache",
    "transfer", "pool_stat", "forward", "accept", "drop",
)  # fmt: skip
WITH_SLOTS = ("alloc", "free", "table_write", "cache", "transfer", "forward")
GIVING = ("alloc", "table_write")
"""Tables whose events give pages to a request."""
ROOMY = 4
"""Places, for each event, up to which events are sorted by a place for each number."""
GetColumns = Callable[[str], Columns]


class Order(NamedTuple):
    """Every event in ascending `seq`: int64[events], number of its table in `TABLES`, and row there."""

    seq: Int64s
    table: npt.NDArray[np.int8]
    row: npt.NDArray[np.int32]

    def part(self, first: int, end: int) -> Order:
        """Events `[first, end)`."""
        return Order(self.seq[first:end], self.table[first:end], self.row[first:end])


class Ints:
    """An integer column whose values are plain Python integers, NULL where absent."""

    def __init__(self, values: Int64s) -> None:
        self.values = values

    def __getitem__(self, index: int) -> int:
        return int(self.values[index])


class Rows:
    """One table."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._ints: dict[str, Ints] = {}

    def __len__(self) -> int:
        return len(self.columns)

    def ints(self, name: str) -> Ints:
        """An integer or boolean column."""
        if name not in self._ints:
            self._ints[name] = Ints(self.columns.ints(name))
        return self._ints[name]

    def texts(self, name: str) -> Texts:
        """A text column, None where absent."""
        return self.columns.texts(name)

    def int_or_none(self, name: str, index: int) -> int | None:
        """One value of an integer column."""
        value = self.ints(name)[index]
        return None if value == NULL else value


class SlotRows(Rows):
    """A list of slots for each event of a table, and the allocator (`namespace`) of each."""

    def __init__(self, columns: Columns, namespaces: Namespaces, listed: Ragged, namespace: Int64s) -> None:
        super().__init__(columns)
        self.namespaces, self.listed, self.namespace = namespaces, listed, namespace

    def space(self, index: int) -> Namespace:
        """Whose ids the event names."""
        return self.namespaces.all[int(self.namespace[index])]

    def told(self, index: int) -> bool:
        """Whether the event has a list of slots at all."""
        return bool(self.listed.present[index])

    def count(self, index: int) -> int:
        """How many slots the event names."""
        return int(self.listed.offsets[index + 1] - self.listed.offsets[index])

    def slots(self, index: int) -> Int64s:
        """The slots as recorded."""
        return self.listed[index]

    def slot_pages(self, index: int) -> Int64s:
        """Page of each slot, -1 of a reserved or impossible one."""
        space, slots = self.space(index), self.listed[index]
        inside = (slots >= space.reserved) & (slots < space.bound)
        return np.where(inside, slots // space.page_size, -1)

    def pages(self, index: int) -> Int64s:
        """Pages in the order of the slots, neighbours once (each slot at page size 1)."""
        pages = self.slot_pages(index)
        kept = pages >= 0
        if self.space(index).page_size > 1:
            kept[1:] &= pages[1:] != pages[:-1]
        return pages[kept]

    @cached_property
    def lists(self) -> PageLists:
        """The pages of all events at once."""
        return self.namespaces.pages(self.listed, self.namespace)

    def top(self, number: int) -> int:
        """One more than the highest page that any event names in an allocator's space, 0 without any."""
        space, mine = self.namespaces.all[number], self.namespace == number
        if not mine.any():
            return 0
        slots = self.listed.values if mine.all() else self.listed.values[np.repeat(mine, self.listed.lengths)]
        inside = slots[(slots >= space.reserved) & (slots < space.bound)]
        return int(inside.max()) // space.page_size + 1 if len(inside) else 0


class LedgerEvents:
    """All tables that the ledger folds, and the order over them.

    Attributes:
        counted: The allocator of each row of pool_stat.
    """

    def __init__(self, columns: GetColumns, info: Process) -> None:
        self.namespaces = Namespaces(info)
        self.rows = {name: Rows(columns(name)) for name in TABLES if name not in WITH_SLOTS}
        self.slots = {name: self._with_slots(columns(name)) for name in WITH_SLOTS}
        accept, everywhere = columns("accept"), np.full(len(columns("accept")), self.namespaces.main)
        self.accept_written, self.accept_table = (
            SlotRows(accept, self.namespaces, accept.lists(name), everywhere)
            for name in ("out_cache_loc", "table_slots")
        )
        self.counted = self.namespaces.indices(columns("pool_stat").texts("pool"))
        self.window = WindowWrites(columns, info, self.namespaces)

    @cached_property
    def window_written(self) -> SlotRows:
        """The rows of `forward` with the slots whose peers they write to a window's pool."""
        forward, everywhere = self.slots["forward"], np.full(len(self.slots["forward"]), self.namespaces.main)
        return SlotRows(forward.columns, self.namespaces, self.window.full, everywhere)

    @property
    def granted(self) -> set[int]:
        """Allocators that hand pages out."""
        return {self.namespaces.main, *np.unique(self.slots["alloc"].namespace).tolist()}

    def order(self) -> Order:
        """The order over all tables."""
        seqs = [self.table(name).columns.ints("seq") for name in TABLES]
        seq = np.concatenate(seqs)
        table = np.repeat(np.arange(len(TABLES), dtype=np.int8), [len(s) for s in seqs])
        row = np.concatenate([np.arange(len(s), dtype=np.int32) for s in seqs])
        order = _sorted(seq)
        return Order(seq[order], table[order], row[order])

    def table(self, name: str) -> Rows:
        """A table by its name."""
        return self.slots[name] if name in self.slots else self.rows[name]

    def giving(self, table: str, index: int) -> int:
        """Number of an event among those that give pages to a request."""
        return index if table == "alloc" else len(self.slots["alloc"]) + index

    def given_by(self, number: int) -> Int64s:
        """The pages of the event of that number."""
        allocs = len(self.slots["alloc"])
        return (
            self.slots["alloc"].pages(number)
            if number < allocs
            else self.slots["table_write"].pages(number - allocs)
        )

    def books(self) -> list[PageBook]:
        """An empty book for each allocator, as large as the pages that the recording names."""
        granted = self.granted
        lists = (*self.slots.values(), self.accept_written, self.accept_table)
        return [
            PageBook(max(rows.top(number) for rows in lists), space.paged and number in granted)
            for number, space in enumerate(self.namespaces.all)
        ]

    def _with_slots(self, columns: Columns) -> SlotRows:
        return SlotRows(
            columns, self.namespaces, columns.lists("slots"), self.namespaces.indices(columns.texts("pool"))
        )


def _sorted(seq: Int64s) -> Int64s:
    """What sorts numbers; where they are nearly dense and none comes twice, by a place for each."""
    low = int(seq.min()) if len(seq) else 0
    span = int(seq.max(initial=low - 1)) + 1 - low
    if span <= ROOMY * len(seq):
        places = np.full(span, -1, dtype=np.int64)
        places[seq - low] = np.arange(len(seq))
        if len(order := places[places >= 0]) == len(seq):
            return order
    return np.argsort(seq, kind="stable")
