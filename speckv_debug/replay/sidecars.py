"""Sidecar rows: which counted pages each request row names, cell by cell."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s, Mask
from speckv_debug.replay.searching import Keys, latest_with


class SidecarCells:
    """One cell a page id that a `table_write` of a sidecar pool writes; 0 clears the cell.

    Attributes:
        write: Number of the write among those that are looked at.
        row, column, pool, page, seq: int64 each.
    """

    def __init__(self, table: Columns, rows: Int64s, pool: Int64s) -> None:
        pages = table.lists("slots").take(rows)
        start = table.ints("start")[rows]
        which = (pages.values != NULL) & (start != NULL)[pages.owners]
        self.write = pages.owners[which]
        self.page, self.column = pages.values[which], (start[pages.owners] + pages.within)[which]
        self.row, self.seq = (table.ints(name)[rows][self.write] for name in ("row", "seq"))
        self.pool = pool[rows][self.write]

    def __len__(self) -> int:
        return len(self.page)

    @property
    def keys(self) -> Keys:
        """Row, pool and column."""
        return self.row, self.pool, self.column

    def kept(self, until: Int64s) -> Mask:
        """Cells that are not written again before `until`."""
        return np.asarray(latest_with(self.keys, self.seq, self.keys, until) == np.arange(len(self)))

    def left(self, row: int, until: int) -> list[tuple[int, int]]:
        """Column and page of the cells of a row that name a page at `until`."""
        mine = np.flatnonzero((self.row == row) & (self.seq < until))
        cells = {(int(self.pool[k]), int(self.column[k])): int(self.page[k]) for k in mine.tolist()}
        return sorted((column, page) for (_, column), page in cells.items() if page > 0)

    def named(self, rows: Int64s, until: Int64s) -> Mask:
        """Whether any cell of each row names a page at `until`."""
        cells = np.unique(np.stack(self.keys), axis=1)
        first, end = (np.searchsorted(cells[0], rows, side=side) for side in ("left", "right"))
        counts = end - first
        asked = np.repeat(np.arange(len(rows), dtype=np.int64), counts)
        place = np.arange(len(asked)) - np.repeat(np.cumsum(counts) - counts, counts) + first[asked]
        last = latest_with(self.keys, self.seq, tuple(column[place] for column in cells), until[asked])
        found = np.zeros(len(rows), dtype=np.bool_)
        found[asked[np.append(self.page, 0)[last] > 0]] = True
        return found
