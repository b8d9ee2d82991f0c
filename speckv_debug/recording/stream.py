"""The tables of a process merged into one stream, holding about one part file a table in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from speckv_debug.recording.arrays import empty_table
from speckv_debug.recording.order import EventBatch, EventOrder, merge
from speckv_debug.recording.schema import CODED, SCHEMAS, TABLES
from speckv_debug.recording.table_files import Piece, TableFiles, seq_of

Tables = Mapping[str, pa.Table]


def batches_of(
    pieces: Mapping[str, list[Piece]],
    max_events: int,
    first_seq: int | None = None,
    last_seq: int | None = None,
) -> Iterator[EventBatch]:
    """The stream from `first_seq` to `last_seq`, both included, in stretches of at most `max_events`."""
    cursors = [_Cursor(name, each, first_seq, last_seq) for name, each in pieces.items()]
    for stretch in _stretches(cursors):
        yield from _split(stretch, max_events)


def windows_of(files: Mapping[str, TableFiles], ends: Iterable[int]) -> Iterator[Mapping[str, pa.Table]]:
    """The rows of each table up to each of `ends`, ascending, from behind the one before it, texts as codes.

    Every part is read once, the first ones before an end is asked for.
    """
    cursors = [_Cursor(name, each.pieces(), None, None, coded=True) for name, each in files.items()]
    for cursor in cursors:
        cursor.fill()
    for end in ends:
        yield {cursor.name: cursor.take_all(end) for cursor in cursors}


def stretches_of(files: Mapping[str, TableFiles], columns: list[str]) -> Iterator[Mapping[str, pa.Table]]:
    """seq and some columns, of the tables that have them, in stretches that hold all events up to their last seq."""
    wanted = {name: [c for c in columns if c in SCHEMAS[name].names] for name in files}
    cursors = [_Cursor(n, each.pieces(), None, None, wanted[n]) for n, each in files.items()]
    yield from _stretches(cursors)


def ahead(stretches: Iterator[Tables]) -> Iterator[Tables]:
    """The same, each read while the one before it is looked at, the first from now on."""
    reader = ThreadPoolExecutor(1)
    return _handed_on(stretches, reader, reader.submit(next, stretches, None))


def _handed_on(
    stretches: Iterator[Tables], reader: Executor, coming: Future[Tables | None]
) -> Iterator[Tables]:
    with reader:
        while (tables := coming.result()) is not None:
            coming = reader.submit(next, stretches, None)
            yield tables


def _stretches(cursors: list[_Cursor]) -> Iterator[dict[str, pa.Table]]:
    while sum(cursor.fill() for cursor in cursors):
        up_to = min((cursor.last for cursor in cursors if cursor.has_more), default=None)
        stretch = {cursor.name: cursor.take(up_to) for cursor in cursors}
        yield {name: table for name, table in stretch.items() if table.num_rows}


class _Cursor:
    """Where the stream stands in one table."""

    def __init__(
        self,
        name: str,
        pieces: list[Piece],
        first: int | None,
        last: int | None,
        columns: list[str] | None = None,
        coded: bool = False,
    ) -> None:
        self.name = name
        self._first, self._last, self._columns, self._coded = first, last, columns, coded
        self._pieces = [p for p in pieces if not self._outside(p.first, p.last)][::-1]
        schema = (CODED if coded else SCHEMAS)[name]
        fields = [field for field in schema if columns is None or field.name in ("seq", *columns)]
        self._table = self._empty = empty_table(pa.schema(fields))
        self._seq = seq_of(self._table)

    @property
    def has_more(self) -> bool:
        """Whether another piece follows the one in memory."""
        return bool(self._pieces)

    @property
    def last(self) -> int:
        """The last seq in memory."""
        return int(self._seq[-1])

    def fill(self) -> bool:
        """Have a row in memory, unless the table is at its end."""
        while not len(self._seq) and self._pieces:
            table = self._pieces.pop().read(self._columns, coded=self._coded)
            self._table, self._seq = _within(table, seq_of(table), self._first, self._last)
        return bool(len(self._seq))

    def take(self, up_to: int | None) -> pa.Table:
        """Remove and return the rows up to a seq, included."""
        count = len(self._seq) if up_to is None else int(np.searchsorted(self._seq, up_to, side="right"))
        taken, self._table = self._table.slice(0, count), self._table.slice(count)
        self._seq = self._seq[count:]
        return taken

    def take_all(self, up_to: int) -> pa.Table:
        """Remove and return the rows up to a seq, included, of as many pieces as they fill."""
        taken = [self._empty]
        while self.fill():
            taken.append(self.take(up_to))
            if len(self._seq):
                break
        return pa.concat_tables(taken)

    def _outside(self, first: int, last: int) -> bool:
        before = self._first is not None and last < self._first
        return before or (self._last is not None and first > self._last)


def _within(
    table: pa.Table, seq: npt.NDArray[np.int64], first: int | None, last: int | None
) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    start = 0 if first is None else int(np.searchsorted(seq, first))
    stop = len(seq) if last is None else int(np.searchsorted(seq, last, side="right"))
    stop = max(start, stop)
    return table.slice(start, stop - start), seq[start:stop]


def _split(tables: Mapping[str, pa.Table], max_events: int) -> Iterator[EventBatch]:
    order = merge({name: seq_of(table) for name, table in tables.items()})
    for start in range(0, len(order), max_events):
        part = slice(start, start + max_events)
        yield _batch(tables, order.seq[part], order.table[part], order.index[part])


def _batch(
    tables: Mapping[str, pa.Table],
    seq: npt.NDArray[np.int64],
    table: npt.NDArray[np.int16],
    index: npt.NDArray[np.int64],
) -> EventBatch:
    local, rows = index.copy(), {}
    for number in np.unique(table):
        mine = np.flatnonzero(table == number)
        first, stop = int(index[mine[0]]), int(index[mine[-1]]) + 1
        local[mine] -= first
        name = TABLES[number]
        rows[name] = tables[name].slice(first, stop - first)
    return EventBatch(int(seq[0]), int(seq[-1]), rows, EventOrder(seq, table, local))
