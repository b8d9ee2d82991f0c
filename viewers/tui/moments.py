"""The ends of steps: where one stands while one scrubs through a recording."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from speckv_debug.viewers.tui.lookup import Ints


@dataclass(frozen=True, slots=True)
class Moments:
    """One a step, ascending.

    Attributes:
        axis: What `at` counts: `step`, or `seq` where no event names a step.
        at: int64[n], the step.
        seq: int64[n], its last event that moves pages or changes lengths.
    """

    axis: str
    at: Ints
    seq: Ints

    def __len__(self) -> int:
        return len(self.seq)

    def of_seq(self, seq: int) -> int:
        """The step that an event belongs to."""
        return self.bounded(int(np.searchsorted(self.seq, seq)))

    def of_step(self, step: int) -> int:
        """The step of that number, or the next one."""
        return self.bounded(int(np.searchsorted(self.at, step)))

    def bounded(self, index: int) -> int:
        """The nearest index that there is."""
        return max(0, min(index, len(self) - 1))
