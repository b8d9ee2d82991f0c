"""Rings of compressor state, cell by cell: what was written where, what emptied it, and what a compression reads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.searching import Keys, latest_with

GetColumns = Callable[[str], Columns]
EMPTY = -1
"""What stands for the position of a row that holds the neutral state (0, -inf)."""


class RingCells:
    """Cells that are read, written or emptied; `table` is 0 for `state_access`, 1 for `state_clear`.

    Attributes:
        table, event: Table and row of the event.
        pool, row, ring_row: Which cell, int64 each; a pool by number.
        position: Wanted by a read, stored by a write; EMPTY of a cell that is emptied.
        seq: Of the event.
        reads: Cells that are read.
        told: For each event of `state_access`, whether it names the cells and their positions. State that is bound to pages
            has no row: its ring rows are addresses in the pool.
    """

    def __init__(self, columns: GetColumns, pools: Callable[[str], Int64s], paged: Mask) -> None:
        """`paged` are the events of `state_access` of a pool whose states are bound to pages."""
        access, clear = columns("state_access"), columns("state_clear")
        rings, positions = access.lists("ring_rows"), access.lists("positions")
        one_each = rings.filled & positions.filled & (rings.lengths == positions.lengths)
        placed = (access.ints("row") != NULL) != paged
        known = access.texts("action").equal("read", "write") & placed
        self.told = mask(one_each & known)
        emptied = clear.lists("ring_rows")
        whole = emptied.filled & (clear.ints("row") != NULL)
        events, values = (
            [lists.owners[which[lists.owners]] for lists, which in ((rings, self.told), (emptied, whole))],
            [
                lists.values[which[lists.owners]]
                for lists, which in ((rings, self.told), (emptied, whole), (positions, self.told))
            ],
        )
        self.table = np.repeat((0, 1), [len(each) for each in events])
        self.event, self.ring_row = np.concatenate(events), np.concatenate(values[:2])
        self.position = np.concatenate((values[2], np.full(len(events[1]), EMPTY)))
        self.row, self.seq = (self._of_events(access.ints(n), clear.ints(n)) for n in ("row", "seq"))
        self.pool = self._of_events(pools("state_access"), pools("state_clear"))
        read = access.texts("action").equal("read").astype(np.int64)
        self.reads = mask(self._of_events(read, np.zeros(len(clear), dtype=np.int64)) == 1)

    def __len__(self) -> int:
        return len(self.event)

    def _of_events(self, access: Int64s, clear: Int64s) -> Int64s:
        offset = np.where(self.table == 1, len(access), 0)
        found: Int64s = np.concatenate((access, clear))[self.event + offset]
        return found

    def keys(self, which: Int64s) -> Keys:
        """Pool, row and ring row of some cells."""
        return self.pool[which], self.row[which], self.ring_row[which]

    def stored(self, read: Int64s) -> Int64s:
        """For each of these reads, the cell as it was written or emptied last, -1 if it was not."""
        change = np.flatnonzero(~self.reads)
        found = latest_with(self.keys(change), self.seq[change], self.keys(read), self.seq[read])
        return np.append(change, -1)[found]
