"""Mover calls as sequential copies: where a pair reads a slot that an earlier pair has overwritten."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.moves import MoveCalls, Relocations
from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import NULL, Int64s, Mask, frozen, mask, packed
from speckv_debug.replay.worthwhile import worth_compiling

SHIFTS = 60
"""Components that are told apart."""
ROOMY = 16
"""Entries of a table, for each pair, up to which each slot has a place in it."""


class MoveLaunches:
    """One instance a mover call, of whatever caller."""

    def __init__(self, moves: MoveCalls, relocations: Relocations) -> None:
        self.moves, self.relocations = moves, relocations

    def __len__(self) -> int:
        return len(self.moves)

    def place(self, index: int) -> Place:
        """The call's place, with the request whose verify owns the first slot in danger."""
        return self.place_of_slot(index, self.first_slot(index))

    def place_of_slot(self, index: int, slot: int) -> Place:
        """The call's place, with the request whose verify names the slot, if one does."""
        place = self.moves.place(index)
        loc = self.relocations.verifies.ragged("out_cache_loc")
        first, end = np.searchsorted(self.relocations.call, [index, index + 1])
        for verify in self.relocations.verify[first:end].tolist():
            if slot in loc[verify]:
                who = self.relocations.verifies.place(verify)
                return Place(
                    seq=place.seq,
                    step=who.step,
                    request=who.request,
                    row=who.row,
                    epoch=who.epoch,
                    pool=place.pool,
                )
        return place

    def first_slot(self, index: int) -> int:
        """The first slot that is read too late, -1 if there is none."""
        moves = self.moves
        start, end = int(moves.src.offsets[index]), int(moves.src.offsets[index + 1])
        hit = np.flatnonzero(self.late_reads[start:end])
        return int(moves.src.values[start + int(hit[0])]) if len(hit) else -1

    @cached_property
    def plain(self) -> bool:
        """Whether it is plain that no pair is read too late, each call for itself; False where it takes a closer look."""
        src, tgt = self.moves.src, self.moves.tgt
        low = min(int(each.values.min(initial=0)) for each in (src, tgt))
        high = max(int(each.values.max(initial=0)) for each in (src, tgt))
        if not worth_compiling(len(src.values)) or low < 0 or high > ROOMY * len(src.values):
            return False
        if self._several_calls:
            return False
        from speckv_debug.replay.stamping import all_read_in_time

        (source, sources), (target, targets) = ((frozen(e.values), frozen(e.offsets)) for e in (src, tgt))
        return bool(all_read_in_time(source, sources, target, targets, high + 1))

    @cached_property
    def late_reads(self) -> Mask:
        """Pairs, parallel to `src.values`, whose source an earlier pair has overwritten: of the call, or of one before it that
        moves the same components of the same verifies.

        A pair of one slot with itself overwrites nothing; slot 0 is the dummy and holds nothing. Where fingerprints
        show that the target has got what its source held before, the mover gathered first.
        """
        moves = self.moves
        if self.plain:
            return np.zeros(len(moves.src.values), dtype=np.bool_)
        src, tgt, call = moves.src.values, moves.tgt_of_src, self.group[moves.src.owners]
        k = np.arange(len(src))
        writes = np.flatnonzero((src != tgt) & (tgt > 0))
        if not _meet(call[writes], tgt[writes], call, src):
            return np.zeros(len(src), dtype=np.bool_)
        order = np.lexsort((k[writes], tgt[writes], call[writes]))
        writes = writes[order]
        found = _first_with(call[writes], tgt[writes], call, src)
        overwritten = found >= 0
        if not len(writes):
            return overwritten
        first = writes[np.where(overwritten, found, 0)]
        alone = moves.src.owners == moves.src.owners[first]
        return mask(overwritten & (k > k[first]) & ~(alone & self._arrived))

    @cached_property
    def group(self) -> Int64s:
        """The first call of those that move the same components of one pool for the accepts of one step, for each call."""
        moves, calls = self.moves, np.arange(len(self), dtype=np.int64)
        if not self._several_calls:
            return calls
        accepts = self._of_steps
        texts, owners, told = moves.columns.text_lists("components")
        one = told & accepts
        keys = np.stack(
            (moves.step, moves.columns.texts("pool").codes, np.zeros(len(self), dtype=np.int64)), axis=1
        )
        np.add.at(keys[:, 2], owners, 1 << (texts.codes.astype(np.int64) % SHIFTS))
        _, first, which = np.unique(keys[one], axis=0, return_index=True, return_inverse=True)
        calls[one] = np.flatnonzero(one)[first][which.ravel()]
        return calls

    @property
    def _of_steps(self) -> Mask:
        """Calls for the accepts of a step that is known."""
        return mask((self.moves.step != NULL) & self.moves.columns.texts("caller").equal("accept"))

    @property
    def _several_calls(self) -> bool:
        """Whether a step has more than one of them."""
        return bool((np.diff(self.moves.step[self._of_steps]) == 0).any())

    def overwriter(self, index: int, slot: int) -> int:
        """The call of the same group that overwrites a slot first."""
        moves = self.moves
        written = (moves.tgt_of_src == slot) & (moves.src.values != slot)
        calls = moves.src.owners[written]
        return int(calls[self.group[calls] == self.group[index]].min())

    @property
    def _arrived(self) -> Mask:
        moves = self.moves
        before = moves.columns.lists("src_before").at(moves.src.owners, moves.src.within)
        after = moves.columns.lists("tgt_after").at(moves.src.owners, moves.src.within)
        taken = (moves.columns.lists("src_before").present & moves.columns.lists("tgt_after").present)[
            moves.src.owners
        ]
        return mask(taken & (before == after))


def _meet(call: Int64s, slot: Int64s, calls: Int64s, slots: Int64s) -> bool:
    """Whether any pair of the first two may be one of the other two."""
    keys = packed(np.concatenate((call, calls)), np.concatenate((slot, slots)))
    if keys is None:
        return True
    written, read = np.sort(keys[: len(call)]), keys[len(call) :]
    at = np.searchsorted(written, read)
    return bool((written[np.minimum(at, len(written) - 1)] == read).any()) if len(written) else False


def _first_with(call: Int64s, slot: Int64s, calls: Int64s, slots: Int64s) -> Int64s:
    """For each (calls, slots) the first index of that pair in (call, slot), which is sorted; -1 if it is not there."""
    if not len(call):
        return np.full(len(calls), -1, dtype=np.int64)
    both = np.unique(np.concatenate((slot, slots)), return_inverse=True)[1]
    known, wanted = call * (len(both) + 1) + both[: len(slot)], calls * (len(both) + 1) + both[len(slot) :]
    at = np.searchsorted(known, wanted)
    inside = at < len(known)
    return np.where(inside & (known[np.minimum(at, len(known) - 1)] == wanted), at, -1)
