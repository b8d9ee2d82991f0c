"""The stream of events of one process and the holes in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import NULL, Int64s, Mask


class Stretches:
    """One instance a stretch of events without a hole; each but the first begins behind one.

    Attributes:
        gaps: The holes, half-open ranges of `seq`, ascending.
        cut_off: The stream was still growing when it was last written: its end is missing.
    """

    def __init__(
        self,
        gaps: Sequence[tuple[int, int]],
        present: Sequence[str],
        columns: Callable[[str], Columns],
        cut_off: bool,
    ) -> None:
        self.gaps, self.cut_off = tuple(gaps), cut_off
        self._present, self._columns = tuple(present), columns

    def __len__(self) -> int:
        return len(self.gaps) + 1 if self._present else 0

    @property
    def seq(self) -> Int64s:
        """The first missing `seq` of each, 0 of the first stretch."""
        return np.array([0, *(first for first, _ in self.gaps)][: len(self)], dtype=np.int64)

    def place(self, index: int) -> Place:
        """The first missing `seq`, in the step of the next event that has one."""
        if index == 0:
            return Place(seq=0)
        first, end = self.gaps[index - 1]
        return Place(seq=first, step=self.step_at(end, before=False))

    @property
    def dropped(self) -> Mask:
        """Stretches in which the recorder had to leave rows out, as it says itself."""
        starts = np.array([end for _, end in self.gaps], dtype=np.int64)
        drops = self._columns("drop")
        at = np.searchsorted(starts, drops.ints("seq")[drops.ints("rows") != 0], side="right")
        return np.asarray(np.isin(np.arange(len(self)), at), dtype=np.bool_)

    @property
    def unfinished(self) -> Mask:
        """The last stretch, if the end of the stream is missing."""
        return np.asarray((np.arange(len(self)) == len(self.gaps)) & self.cut_off, dtype=np.bool_)

    def step_at(self, seq: int, *, before: bool) -> int | None:
        """Step of the first event at or behind `seq`, or of the last before it, that has one."""
        found: list[tuple[int, int]] = []
        for name in self._present:
            seqs, steps = self._columns(name).ints("seq"), self._columns(name).ints("step")
            known = np.flatnonzero((steps != NULL) & ((seqs < seq) if before else (seqs >= seq)))
            if len(known):
                index = known[-1 if before else 0]
                found.append((int(seqs[index]), int(steps[index])))
        if not found:
            return None
        return (max if before else min)(found)[1]
