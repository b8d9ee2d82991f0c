"""What OWN-RACE looks at of request rows: rows that are handed on, and whether the device was done with the life before."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.lengths import Lengths
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.writes import padding_rows

NOTHING = np.empty(0, dtype=np.int64)


class RowReuses:
    """One instance a life of a request row that runs behind an earlier one of the row; none where no device times are known.

    Attributes:
        user: The earlier life's last forward, int64[instances].
        first: The later life's first forward.
    """

    columns_from = ("forward",)

    def __init__(self, lengths: Lengths, *, timed: bool) -> None:
        self.forward = lengths.columns("forward")
        self.user, self.first = self._pairs(lengths) if timed else (NOTHING, NOTHING)
        self.seq = self.forward.ints("seq")[self.first] if timed else NOTHING

    def __len__(self) -> int:
        return len(self.first)

    def place(self, index: int) -> Place:
        """Where the later life begins to run."""
        return place_of(self.forward, int(self.first[index]))

    @cached_property
    def known(self) -> Mask:
        """Where it is told when the earlier life was done and when the later one began."""
        return mask((self._end != NULL) & (self._begin != NULL))

    @property
    def overlapping(self) -> Mask:
        """Where the later life began before the earlier one was done."""
        return mask(self.known & (self._end > self._begin))

    @property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the one forward to the other."""
        return self.forward.ints("seq")[self.user], self.seq

    @property
    def _end(self) -> Int64s:
        return self.forward.ints("end_ns")[self.user]

    @property
    def _begin(self) -> Int64s:
        return self.forward.ints("begin_ns")[self.first]

    def _pairs(self, lengths: Lengths) -> tuple[Int64s, Int64s]:
        """Lives are numbered by row, then epoch: of those that ran, each and the next one of its row."""
        lives = lengths.lives
        rows = np.flatnonzero(~padding_rows(self.forward) & (lives.of("forward") >= 0))
        ran, first = np.unique(lives.of("forward")[rows], return_index=True)
        _, back = np.unique(lives.of("forward")[rows][::-1], return_index=True)
        last = len(rows) - 1 - back
        same = lives.rows[ran[1:]] == lives.rows[ran[:-1]]
        return rows[last[:-1][same]], rows[first[1:][same]]
