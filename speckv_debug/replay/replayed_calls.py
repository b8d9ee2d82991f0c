"""Mover calls of one step and one set of components as one list of pairs, padding and the pool's dummy left out."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.moves import Relocations
from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, mask, spread
from speckv_debug.replay.writes import reserved


class CalledPairs:
    """Every pair that an accept's calls pass and that ends in a slot that can be somebody's.

    Attributes:
        source, target: Slots of each pair.
        call, at: Its call, and its place in the call's list.
        group: Number of its call's batch and components; calls of one group are the batch's move together.
    """

    def __init__(self, relocations: Relocations) -> None:
        self._relocations, moves = relocations, relocations.moves
        called = np.zeros(len(moves), dtype=np.bool_)
        called[relocations.call] = True
        live = moves.tgt_of_src >= reserved(moves.info.pool(None))
        chosen = np.flatnonzero(called[moves.src.owners] & live)
        self.source, self.target = moves.src.values[chosen], moves.tgt_of_src[chosen]
        self.call, self.at = moves.src.owners[chosen], moves.src.within[chosen]
        self.group = self.group_of_call[self.call]

    @cached_property
    def group_of_call(self) -> Int64s:
        """Number of each call's group, -1 of a call that is none of an accept's."""
        relocations = self._relocations
        found = np.full(len(relocations.moves), -1, dtype=np.int64)
        calls, first = np.unique(relocations.call, return_index=True)
        batch = relocations.verify[first]
        parts = np.array(
            [self._components(c) for c in calls.tolist()] if _repeats(batch) else [0] * len(calls)
        )
        found[calls] = numbered(np.stack([batch, parts.astype(np.int64)]))
        return found

    def _components(self, call: int) -> int:
        """Number of a call's components; only asked where a batch has several calls."""
        named = self._relocations.moves.columns.strings("components", call)
        return self._known.setdefault(named, len(self._known))

    @cached_property
    def _known(self) -> dict[tuple[str, ...] | None, int]:
        return {}

    @cached_property
    def verify_groups(self) -> tuple[Int64s, Int64s]:
        """(verify, group) of each verify in each group, once."""
        verify, group = self._relocations.verify, self.group_of_call[self._relocations.call]
        number = numbered(np.stack([verify, group]))
        first = np.unique(number, return_index=True)[1]
        return verify[first], group[first]

    @property
    def keys(self) -> Int64s:
        """(group, source, target) of each pair, int64[3, pairs]."""
        return np.stack([self.group, self.source, self.target])

    @property
    def moving(self) -> Mask:
        """Pairs of two slots."""
        return mask(self.source != self.target)

    @cached_property
    def torn_groups(self) -> Int64s:
        """Groups that write one slot from two sources."""
        order = np.lexsort((self.source, self.target, self.group))
        group, target, source = self.group[order], self.target[order], self.source[order]
        again = (group[1:] == group[:-1]) & (target[1:] == target[:-1]) & (source[1:] != source[:-1])
        return np.unique(group[1:][again])

    def any_of_group(self, hit: Mask) -> Mask:
        """Per pair: whether a verify of its group is hit."""
        verify, group = self.verify_groups
        return np.asarray(np.isin(self.group, group[hit[verify]]), dtype=np.bool_)

    def owner_of_slot(self, windows: Ragged, pairs: Int64s, slots: Int64s) -> Int64s:
        """The verify of a pair's group whose window holds `slots` of the pair, -1 if none does."""
        verify, group = self.verify_groups
        counts = windows.lengths[verify]
        held = windows.values[np.repeat(windows.offsets[verify], counts) + spread(counts)]
        wanted = np.stack([self.group[pairs], slots[pairs]])
        number = numbered(np.hstack([wanted, np.stack([np.repeat(group, counts), held])]))
        owner = np.full(int(number.max(initial=-1)) + 1, -1, dtype=np.int64)
        owner[number[len(pairs) :][::-1]] = np.repeat(verify, counts)[::-1]
        return np.where(slots[pairs] == NULL, -1, owner[number[: len(pairs)]])

    def owner_of_place(self, pairs: Int64s) -> Int64s:
        """The verify at whose place in the packed list each pair stands."""
        relocations = self._relocations
        width = int(max(relocations.start.max(initial=0), self.at.max(initial=0))) + 1
        keys = relocations.call * width + relocations.start
        place = np.searchsorted(keys, self.call[pairs] * width + self.at[pairs], side="right") - 1
        return relocations.verify[np.maximum(place, 0)]


def _repeats(batches: Int64s) -> bool:
    return len(np.unique(batches)) < len(batches)
