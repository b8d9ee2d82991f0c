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

    By `predict` alone a path is only checked, not recomputed: where that leads elsewhere it says nothing. Of siblings
    with one token the engine may take any: they hold the same KV, so a path of the same tokens stays the recorded one.
    """

    def __init__(self, verifies: VerifyBatch, recomputed: Callable[[], RecomputedAccepts]) -> None:
        self.verifies, self._recomputed = verifies, recomputed

    @cached_property
    def again(self) -> Mask:
        """Verifies whose path is recomputed: none where no kernel can be called."""
        recomputed = self._recomputed()
        if recomputed.kernels.missing is not None:
            return np.zeros(len(self.verifies), dtype=np.bool_)
        return mask(recomputed.exact & ~recomputed.by_predict & ~self._tied)

    @cached_property
    def rows(self) -> Ragged:
        """Local rows, root first; absent where nothing says what was accepted."""
        recorded, count = self.verifies.path, len(self.verifies)
        if not self.again.any():
            return recorded
        both = joined(recorded, self._recomputed().path)
        return both.take(np.arange(count) + np.where(self.again, count, 0))

    @cached_property
    def _tied(self) -> Mask:
        """Verifies whose recorded path leads down the tree along the tokens of the recomputed one."""
        verifies, recomputed = self.verifies, self._recomputed().path
        tied = mask(
            verifies.path.present & recomputed.present & (verifies.path.lengths == recomputed.lengths)
        )
        which = np.flatnonzero(tied)
        told, due = verifies.path.take(which), recomputed.take(which)
        owners, tokens = which[told.owners], verifies.ragged("draft_tokens")
        other = tokens.at(owners, told.values) != tokens.at(owners, due.values)
        above = np.append(-1, told.values[:-1])[: len(owners)]
        loose = (told.within > 0) & (verifies.parents.at(owners, told.values) != above)
        tied[owners[other | loose]] = False
        return tied
