"""The accepted path that later steps are replayed from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from speckv_debug.replay.ragged import Mask, Ragged, joined, mask, starts
from speckv_debug.replay.recompute import Kernels
from speckv_debug.replay.recomputed_accepts import RecomputedAccepts
from speckv_debug.replay.ties import tied_paths
from speckv_debug.replay.verifies import VerifyBatch


class ReplayedPaths:
    """One accepted path a verify: the recomputed one where the target's choices give it, else the recorded one.

    By `predict` alone a path is only checked, not recomputed: where that leads elsewhere it says nothing. Of siblings
    with one token the engine may take any: a path that is as right as the kernel's stays the recorded one.
    """

    def __init__(self, verifies: VerifyBatch, recomputed: Callable[[], RecomputedAccepts]) -> None:
        self.verifies, self._recomputed = verifies, recomputed

    @classmethod
    def of_windows(cls, verifies: VerifyBatch, parts: Sequence[Ragged]) -> ReplayedPaths:
        """The paths of one window of the verifies after another, which were recomputed there."""
        found = cls(verifies, lambda: RecomputedAccepts(verifies, Kernels()))
        lengths = np.concatenate([part.lengths for part in parts])
        values, present = (np.concatenate([getattr(p, n) for p in parts]) for n in ("values", "present"))
        found.rows = Ragged(values, starts(lengths), present)
        return found

    @cached_property
    def again(self) -> Mask:
        """Verifies whose path is recomputed: none where no kernel can be called."""
        recomputed = self._recomputed()
        if recomputed.kernels.missing is not None:
            return np.zeros(len(self.verifies), dtype=np.bool_)
        return mask(recomputed.exact & ~recomputed.by_predict & ~tied_paths(recomputed))

    @cached_property
    def rows(self) -> Ragged:
        """Local rows, root first; absent where nothing says what was accepted."""
        recorded, count = self.verifies.path, len(self.verifies)
        if not self.again.any():
            return recorded
        both = joined(recorded, self._recomputed().path)
        return both.take(np.arange(count) + np.where(self.again, count, 0))
