"""Positions at which a verify's forward computes its rows, beside those that the accept has them at."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, mask
from speckv_debug.replay.trees import depths
from speckv_debug.replay.verifies import VerifyBatch

NONE = int(np.iinfo(np.int64).max)


class ComputedPositions:
    """The rows of some forwards of verifies.

    Args:
        forward, verifies: The tables.
        index, accept: int64[forwards], each forward and the accept of its step.

    Attributes:
        wrong: int64[forwards], the first row that is computed at another position than is due, -1 if there is none.
        compared: Forwards of which the position of some row is known, and the one that is due.
    """

    def __init__(self, forward: Columns, verifies: VerifyBatch, index: Int64s, accept: Int64s) -> None:
        self._told = forward.lists("positions").take(index)
        self._verifies, self._accept = verifies, accept
        owners, told, due = self._told.owners, self._told.values, self._due
        known = (due != NULL) & (told != NULL)
        self.wrong = _first(len(index), owners, self._told.within, known & (told != due))
        self.compared: Mask = mask(np.bincount(owners[known], minlength=len(index)) > 0)

    def row(self, at: int) -> tuple[int, int, int]:
        """The first wrong row of one forward, its position, and the one that is due."""
        row = int(self.wrong[at])
        place = int(self._told.offsets[at]) + row
        return row, int(self._told.values[place]), int(self._due[place])

    @property
    def _due(self) -> Int64s:
        """Position of each row as the accept tells it, or as its length and the row's depth in the tree lead to."""
        rows, own = self._told.within, self._accept[self._told.owners]
        found = self._verifies.ragged("positions").at(own, rows)
        if not (found == NULL).any():
            return found
        depth = np.where(rows == 0, 0, self._depths.at(self._told.owners, rows))
        length = self._verifies.seq_len[own]
        worked_out = np.where((length == NULL) | (depth == NULL), NULL, length + np.maximum(depth, 0))
        return np.where(found == NULL, worked_out, found)

    @property
    def _depths(self) -> Ragged:
        return depths(self._verifies.parents_at(self._accept))


def _first(count: int, owners: Int64s, rows: Int64s, which: Mask) -> Int64s:
    found = np.full(count, NONE)
    np.minimum.at(found, owners[which], rows[which])
    return np.where(found == NONE, -1, found)
