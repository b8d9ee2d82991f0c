"""The events that move pages about, as the ledger reads them: plain lists, page arrays, one order over all tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ledger_book import PageBook
from speckv_debug.replay.namespaces import Namespaces, PageLists
from speckv_debug.replay.ragged import NULL, Int64s

TABLES = (
    "alloc", "free", "free_group", "table_write", "row_alloc", "row_free", "lengths", "release", "cache",
    "transfer", "pool_stat", "forward", "accept", "drop",
)  # fmt: skip
WITH_SLOTS = ("alloc", "free", "table_write", "cache", "transfer", "forward")
GetColumns = Callable[[str], Columns]


class Rows:
    """One table; a column becomes a list of plain values when it is first asked for."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._lists: dict[str, list[int]] = {}
        self._texts: dict[str, list[str | None]] = {}

    def __len__(self) -> int:
        return len(self.columns)

    def ints(self, name: str) -> list[int]:
        """An integer or boolean column, NULL where absent."""
        if name not in self._lists:
            self._lists[name] = self.columns.ints(name).tolist()
        return self._lists[name]

    def texts(self, name: str) -> list[str | None]:
        """A text column, None where absent."""
        if name not in self._texts:
            texts = self.columns.texts(name)
            names: list[str | None] = [*texts.names, None]
            self._texts[name] = [names[code] for code in texts.codes.tolist()]
        return self._texts[name]

    def int_or_none(self, name: str, index: int) -> int | None:
        """One value of an integer column."""
        value = self.ints(name)[index]
        return None if value == NULL else value


class SlotRows(Rows):
    """A table with a list of slots: its pages, and the allocator (`namespace`) of each event."""

    def __init__(self, columns: Columns, namespaces: Namespaces, lists: PageLists, namespace: Int64s) -> None:
        super().__init__(columns)
        self.lists = lists
        self.namespace: list[int] = namespace.tolist()
        self._slots = lists.slots.offsets.tolist()
        self._runs = lists.runs.offsets.tolist()

    def told(self, index: int) -> bool:
        """Whether the event has a list of slots at all."""
        return bool(self.lists.slots.present[index])

    def count(self, index: int) -> int:
        """How many slots the event names."""
        return int(self._slots[index + 1] - self._slots[index])

    def slots(self, index: int) -> Int64s:
        """The slots as recorded."""
        return self.lists.slots.values[self._slots[index] : self._slots[index + 1]]

    def slot_pages(self, index: int) -> Int64s:
        """Page of each slot, -1 of a reserved or impossible one."""
        return self.lists.of_slot[self._slots[index] : self._slots[index + 1]]

    def pages(self, index: int) -> Int64s:
        """Pages in the order of the slots, neighbours once."""
        return self.lists.runs.values[self._runs[index] : self._runs[index + 1]]


class LedgerEvents:
    """All tables that the ledger folds, and the order over them."""

    def __init__(self, columns: GetColumns, info: Process) -> None:
        self.namespaces = Namespaces(info)
        self.rows = {name: Rows(columns(name)) for name in TABLES if name not in WITH_SLOTS}
        self.slots = {name: self._with_slots(columns(name)) for name in WITH_SLOTS}
        accept, everywhere = columns("accept"), np.full(len(columns("accept")), self.namespaces.main)
        self.accept_written, self.accept_table = (
            SlotRows(
                accept, self.namespaces, self.namespaces.pages(accept.lists(name), everywhere), everywhere
            )
            for name in ("out_cache_loc", "table_slots")
        )

    def order(self) -> Iterator[tuple[int, int, int]]:
        """(seq, number of the table in TABLES, row) of every event, ascending `seq`."""
        seqs = [self.table(name).columns.ints("seq") for name in TABLES]
        seq = np.concatenate(seqs)
        table = np.repeat(np.arange(len(TABLES)), [len(s) for s in seqs])
        row = np.concatenate([np.arange(len(s)) for s in seqs])
        order = np.argsort(seq, kind="stable")
        return zip(seq[order].tolist(), table[order].tolist(), row[order].tolist(), strict=True)

    def table(self, name: str) -> Rows:
        """A table by its name."""
        return self.slots[name] if name in self.slots else self.rows[name]

    def books(self) -> list[PageBook]:
        """An empty book for each allocator, as large as the pages that the recording names."""
        top = np.zeros(len(self.namespaces.all), dtype=np.int64)
        for rows in (*self.slots.values(), self.accept_written, self.accept_table):
            runs = rows.lists.runs
            owner = np.array(rows.namespace, dtype=np.int64)[runs.owners]
            np.maximum.at(top, owner, runs.values + 1)
        granted = {self.namespaces.main, *self.slots["alloc"].namespace}
        spaces = enumerate(zip(top, self.namespaces.all, strict=True))
        return [PageBook(int(n), space.paged and i in granted) for i, (n, space) in spaces]

    def _with_slots(self, columns: Columns) -> SlotRows:
        namespace = self.namespaces.indices(columns.texts("pool"))
        lists = self.namespaces.pages(columns.lists("slots"), namespace)
        return SlotRows(columns, self.namespaces, lists, namespace)
