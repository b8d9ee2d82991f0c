"""The accepted path that later steps are replayed from."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from speckv_debug.replay.ragged import Mask, Ragged, joined, mask
from speckv_debug.replay.recomputed_accepts import RecomputedAccepts
from speckv_debug.replay.verifies import VerifyBatch


class ReplayedPaths:
    """One accepted path a verify: the recomputed one where the target's choices give it, else the recorded one.

    By `predict` alone a path is only checked, not recomputed: where that leads elsewhere it says nothing.
    """

    def __init__(self, verifies: VerifyBatch, recomputed: Callable[[], RecomputedAccepts]) -> None:
        self.verifies, self._recomputed = verifies, recomputed

    @cached_property
    def again(self) -> Mask:
        """Verifies whose path is recomputed."""
        recomputed = self._recomputed()
        return mask(recomputed.exact & ~recomputed.by_predict)

    @cached_property
    def rows(self) -> Ragged:
        """Local rows, root first; absent where nothing says what was accepted."""
        recorded, count = self.verifies.path, len(self.verifies)
        if not self.again.any():
            return recorded
        both = joined(recorded, self._recomputed().path)
        return both.take(np.arange(count) + np.where(self.again, count, 0))
