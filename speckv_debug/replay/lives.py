"""Lives of request rows as numbers: each (row, epoch) that any table names, with where it begins and ends."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s, Mask
from speckv_debug.replay.searching import NEVER, latest_of

__all__ = ["NEVER", "Lives"]
NAMING = ("accept", "alloc", "forward", "lengths", "release", "reserve", "row_alloc", "row_free")
PACKED = 1 << 24
"""Rows times epochs up to which lives are numbered without sorting."""


class Lives:
    """`of(table)[i]` is the number of the life that event i belongs to, -1 where it names no row or epoch.

    Attributes:
        rows, epochs: Of each life, int64[lives]; they are numbered by row, then epoch.
        begin: `seq` of the first event that names the life, int64[lives].
        end: `seq` of its end, a final release, its row_free or the row's next epoch; NEVER if none was seen.
    """

    def __init__(self, columns: Callable[[str], Columns]) -> None:
        pairs = [(columns(name).ints("row"), columns(name).ints("epoch")) for name in NAMING]
        rows, epochs = (np.concatenate(column) for column in zip(*pairs, strict=True))
        numbers, self.rows, self.epochs = _numbered(rows, epochs)
        bounds = np.cumsum([len(row) for row, _ in pairs])[:-1]
        self._of = dict(zip(NAMING, np.split(numbers, bounds), strict=True))
        self._columns = columns
        self.begin, self.end = self._begins(), self._ends()

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, table: str) -> Int64s:
        """The life of each event of a table."""
        return self._of[table]

    def before(self, table: str, seq: Int64s, lives: Int64s, which: Mask | None = None) -> Int64s:
        """For each (life, seq): the latest event of `table` (where `which`) of that life before `seq`, -1 if none."""
        own, seqs = self._of[table], self._columns(table).ints("seq")
        return latest_of((own, seqs), (lives, seq), len(self), which)

    def first(self, table: str) -> Int64s:
        """`seq` of the first event of a table that names each life, NEVER if there is none."""
        found = np.full(len(self), NEVER, dtype=np.int64)
        known = self._of[table] >= 0
        np.minimum.at(found, self._of[table][known], self._columns(table).ints("seq")[known])
        return found

    def _begins(self) -> Int64s:
        begin = np.full(len(self), NEVER, dtype=np.int64)
        for name, numbers in self._of.items():
            known = numbers >= 0
            np.minimum.at(begin, numbers[known], self._columns(name).ints("seq")[known])
        return begin

    def _ends(self) -> Int64s:
        end = np.full(len(self), NEVER, dtype=np.int64)
        final = ~self._columns("release").texts("kind").equal("session_trim")
        for name, which in (("release", final), ("row_free", None)):
            known = (self._of[name] >= 0) & (True if which is None else which)
            np.minimum.at(end, self._of[name][known], self._columns(name).ints("seq")[known])
        return np.minimum(end, self._next_epoch())

    def _next_epoch(self) -> Int64s:
        """`seq` at which the row was allocated again."""
        end = np.full(len(self), NEVER, dtype=np.int64)
        opened = self.first("row_alloc")
        same_row = self.rows[1:] == self.rows[:-1]  # lives are numbered by row, then epoch
        end[:-1][same_row] = opened[1:][same_row]
        return end


def _numbered(rows: Int64s, epochs: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Number of each (row, epoch), ascending by row and epoch, -1 where one is absent; each number's row and epoch."""
    known = (rows != NULL) & (epochs != NULL)
    if not known.any():
        nothing = np.empty(0, dtype=np.int64)
        return np.full(len(rows), -1, dtype=np.int64), nothing, nothing
    low_row, low_epoch = (int(column.min(where=known, initial=NEVER)) for column in (rows, epochs))
    high_row, high_epoch = (int(column.max(where=known, initial=NULL)) for column in (rows, epochs))
    span = high_epoch - low_epoch + 1
    if (high_row - low_row + 1) * span > PACKED:
        keys, inverse = np.unique(np.stack((rows, epochs), axis=1)[known], axis=0, return_inverse=True)
        numbers = np.full(len(rows), -1, dtype=np.int64)
        numbers[known] = inverse.reshape(-1)
        return numbers, keys[:, 0], keys[:, 1]
    packed = np.where(known, (rows - low_row) * span + epochs - low_epoch, -1)
    present = np.zeros((high_row - low_row + 1) * span + 1, dtype=np.bool_)
    present[packed] = True
    present[-1] = False  # where what is absent went
    number = np.cumsum(present) - 1
    row, epoch = np.divmod(np.flatnonzero(present), span)
    return np.where(known, number[packed], -1), row + low_row, epoch + low_epoch
