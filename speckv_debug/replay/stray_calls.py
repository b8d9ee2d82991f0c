"""Mover calls for the accepts of a step of which the recording has no accept."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.moves import Relocations
from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import Mask, any_per_list, mask


class StrayCalls:
    """One instance a call for accepted rows that belongs to no verify."""

    def __init__(self, relocations: Relocations) -> None:
        self.moves = relocations.moves
        paired = np.zeros(len(self.moves), dtype=np.bool_)
        paired[relocations.call] = True
        self.index = np.flatnonzero(self.moves.of_accept & ~paired)
        self.seq = self.moves.seq[self.index]

    def __len__(self) -> int:
        return len(self.index)

    def place(self, index: int) -> Place:
        """Where the call stands."""
        return self.moves.place(int(self.index[index]))

    @property
    def idle(self) -> Mask:
        """Calls that move nothing: padding, and pairs of one slot with itself."""
        if not len(self):
            return np.zeros(0, dtype=np.bool_)
        src, tgt = self.moves.src, self.moves.tgt
        apart = any_per_list(mask(src.values != self.moves.tgt_of_src), src.owners, len(self.moves))
        told = src.present & tgt.present & (src.lengths == tgt.lengths)
        return mask(told & ~apart)[self.index]
