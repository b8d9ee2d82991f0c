"""What fingerprints say of mover calls: whether each target holds afterwards what its source held before."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.launches import MoveLaunches
from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import NULL, Int64s, Mask, any_per_list, mask
from speckv_debug.replay.writes import by_pool, reserved


class MoveContents:
    """One instance a mover call, of whatever caller; what goes into the dummy is left out."""

    def __init__(self, launches: MoveLaunches) -> None:
        self.launches, self.moves = launches, launches.moves

    def __len__(self) -> int:
        return len(self.moves)

    def place(self, index: int) -> Place:
        """The call's place, with the request whose verify owns the first target that got something else."""
        lost = self.lost_pairs(index)
        return self.launches.place_of_slot(index, int(self.moves.tgt[index][lost[0]]) if lost else -1)

    @cached_property
    def before(self) -> Int64s:
        """Fingerprint of each pair's source before the call, parallel to `moves.src.values`; NULL where not taken."""
        return self._fingerprints("src_before")

    @cached_property
    def after(self) -> Int64s:
        """The same of its target after the call."""
        return self._fingerprints("tgt_after")

    def _fingerprints(self, name: str) -> Int64s:
        return self.moves.columns.lists(name).at(self.moves.src.owners, self.moves.src.within)

    @cached_property
    def counted(self) -> Mask:
        """Pairs whose target somebody may read."""
        sizes = {pool.name: reserved(pool) for pool in self.moves.info.pools}
        dummy = by_pool(self.moves.columns.texts("pool"), self.moves.info, sizes, 1)
        tgt = self.moves.tgt_of_src
        return mask((tgt != NULL) & (tgt >= dummy[self.moves.src.owners]))

    @cached_property
    def taken(self) -> Mask:
        """Calls with both fingerprints of every pair that counts."""
        lists = [self.moves.columns.lists(name).present for name in ("src_before", "tgt_after")]
        if not (lists[0] & lists[1]).any():
            return mask(np.zeros(len(self)))
        lacking = self.counted & ((self.before == NULL) | (self.after == NULL))
        return mask(lists[0] & lists[1] & ~any_per_list(lacking, self.moves.src.owners, len(self)))

    @cached_property
    def lost(self) -> Mask:
        """Pairs whose target holds none of what the call was to bring there.

        A target that several pairs name holds one of them.
        """
        if not self.taken.any():
            return mask(np.zeros(len(self.moves.src.values)))
        apart = self.counted & (self.before != self.after) & self.taken[self.moves.src.owners]
        for pair in np.flatnonzero(apart).tolist():
            apart[pair] = not self._arrived_by_another(pair)
        return mask(apart)

    def _arrived_by_another(self, pair: int) -> bool:
        call = int(self.moves.src.owners[pair])
        mine = slice(int(self.moves.src.offsets[call]), int(self.moves.src.offsets[call + 1]))
        same = self.moves.tgt_of_src[mine] == self.moves.tgt_of_src[pair]
        return bool((same & (self.before[mine] == self.after[mine])).any())

    @property
    def lost_calls(self) -> Mask:
        """Calls with such a pair."""
        if not self.lost.any():
            return mask(np.zeros(len(self)))
        return any_per_list(self.lost, self.moves.src.owners, len(self))

    def lost_pairs(self, index: int) -> list[int]:
        """Places in the call's lists of the pairs that did not arrive."""
        start = int(self.moves.src.offsets[index])
        end = int(self.moves.src.offsets[index + 1])
        found: Int64s = np.flatnonzero(self.lost[start:end])
        return [int(place) for place in found]
