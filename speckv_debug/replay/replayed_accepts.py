"""What the engine recorded of each verify's result beside what the kernels make of its inputs."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import NULL, Int64s, Mask, any_per_list, mask
from speckv_debug.replay.recompute import Kernels
from speckv_debug.replay.recomputed_accepts import KERNELS, WALK, RecomputedAccepts
from speckv_debug.replay.ties import broken_at, next_rows, tied_paths
from speckv_debug.replay.verifies import VerifyBatch

PARTED = "past the rows that it accepted the engine's predictions are undefined"
TIED = "siblings carry the same token, and the engine took another one than the kernel"


class Difference(NamedTuple):
    """The first value that differs: where along the path, the value due and the value recorded; None for none."""

    what: str
    k: int | None
    due: int | None
    told: int | None


class ReplayedAccepts:
    """One instance a verify, as in `VerifyBatch`.

    What a sampled or simulated verify accepts can't be recomputed; its recorded path is then compared with what
    it must be the front of, and bonus and length are those of the recorded rows.
    """

    def __init__(self, verifies: VerifyBatch, kernels: Kernels) -> None:
        self.verifies, self._kernels = verifies, kernels
        self.recomputed = RecomputedAccepts(verifies, kernels)

    def __len__(self) -> int:
        return len(self.verifies)

    def place(self, index: int) -> Place:
        """Where the verify stands."""
        return self.verifies.place(index)

    def kernel(self, index: int) -> str:
        """The kernel that the path comes from."""
        return KERNELS[int(self.recomputed.kernel[index])]

    @cached_property
    def idle(self) -> Mask:
        """Verifies that accept nothing by design: rows that pad the batch, inactive rows of a chain engine."""
        verifies = self.verifies
        nothing = (verifies.accept_len == 0) & ((verifies.num_correct == NULL) | (verifies.num_correct == 0))
        return mask(verifies.padding | (~verifies.ragged("accept_index").present & nothing))

    @cached_property
    def told(self) -> Mask:
        """Verifies whose recording says anything of what was accepted."""
        verifies = self.verifies
        return mask(self._named | (verifies.accept_len != NULL) | (verifies.num_correct != NULL))

    @cached_property
    def path_differs(self) -> Mask:
        """The recorded rows, their count or the count of correct drafts are not those of the kernel."""
        verifies = self.verifies
        lens = np.where(self._settled, self.recomputed.lens, verifies.accepted)
        n, correct = verifies.accept_len, verifies.num_correct
        counts = (n != NULL) & (lens != NULL) & (n != lens)
        if verifies.non_draft is not None:
            counts |= (correct != NULL) & (lens != NULL) & (correct != lens - verifies.non_draft)
        rows = any_per_list(self._entry_differs, self.verifies.ragged("accept_index").owners, len(self))
        return mask(((rows | self._cut) & ~self._ties | counts) & self._judged)

    @cached_property
    def tied(self) -> Mask:
        """Greedy verifies that went to a sibling with the same token: either may be taken."""
        return self._ties & self.recomputed.exact

    @cached_property
    def tokens_differ(self) -> Mask:
        """On some accepted row `predict` is not the token that the target chose."""
        recomputed, predict = self.recomputed, self.verifies.ragged("predict")
        which = recomputed.exact & ~recomputed.by_predict & recomputed.whole("predict") & ~self.tied
        if not which.any():
            return which
        owners = recomputed.path.owners
        wrong = predict.at(owners, recomputed.path.values) != recomputed.tokens
        return any_per_list(wrong & which[owners], owners, len(self)) & ~self.idle

    @cached_property
    def parted(self) -> Mask:
        """The walk by `predict` has left the rows on which that is defined: where it ends says nothing."""
        recomputed = self.recomputed
        return mask(recomputed.exact & recomputed.by_predict & self.path_differs)

    @cached_property
    def bonus(self) -> Int64s:
        """The bonus token due, NULL where unknown: for a sampled verify `predict` on its last recorded row."""
        bonus = np.where(self.parted | self.tied, NULL, self.recomputed.bonus)
        sampled = self.recomputed.sampled & self.recomputed.whole("predict")
        sampled &= self.verifies.path.lengths > 0
        for width in np.unique(self.verifies.width[sampled]).tolist():
            which = np.flatnonzero(sampled & (self.verifies.width == width))
            predict, path = self.verifies.ragged("predict").matrix(which, width), self.verifies.path
            rows = path.padded(which, width, -1)
            bonus[which] = self._kernels.bonus(predict, rows, path.lengths[which])
        return bonus

    @cached_property
    def new_seq_len(self) -> Int64s:
        """The length due after the verify, NULL where unknown: where the walk can't be recomputed that of the recorded rows."""
        verifies, recomputed = self.verifies, self.recomputed
        told = recomputed.sampled | verifies.simulated
        lens = np.where(told, verifies.accepted, np.where(self.parted | self.tied, NULL, recomputed.lens))
        lengths = np.full(len(self), NULL, dtype=np.int64)
        known = (verifies.seq_len != NULL) & (lens != NULL)
        lengths[known] = self._kernels.new_lengths(verifies.seq_len[known], lens[known])
        return lengths

    def difference(self, index: int) -> Difference:
        """The first difference of a verify whose path or tokens differ."""
        due, told = self.rows_due(index), self.rows_told(index)
        exact = bool(self.recomputed.exact[index])
        for k in range(max(len(due), len(told)) if told is not None else 0):
            here = due[k] if k < len(due) else None
            there = told[k] if told is not None and k < len(told) else None
            if here != there and (exact or there is not None):
                return self._behind_a_tie(index, k) or Difference("row", k, here, there)
        return self._count_differs(index) or self._token_differs(index)

    def _behind_a_tie(self, index: int, first: int) -> Difference | None:
        """Where a path goes wrong that took a sibling of the same token at `first`; None where it did not."""
        if self.recomputed.kernel[index] != WALK or not self.verifies.path.present[index]:
            return None
        k, told = int(broken_at(self.recomputed, np.array([index]))[0]), self.verifies.path[index]
        if k <= first:
            return None
        due = next_rows(self.recomputed, index, int(told[k - 1]))
        return Difference("row", k, due[0] if due else None, int(told[k]) if k < len(told) else None)

    def rows_due(self, index: int) -> list[int]:
        """Local rows that the kernel accepts, or that the accepted ones must be the front of."""
        path = self.verifies.path if self._ties[index] else self.recomputed.path
        return [int(row) for row in path[index]]

    def tokens_due(self, index: int) -> list[int]:
        """The output token behind each of those rows; meaningless where the path is not exact."""
        if self._ties[index]:
            rows = self.verifies.path[index]
            return [int(token) for token in self.recomputed.chosen_at(np.full_like(rows, index), rows)]
        start, end = self.recomputed.path.offsets[index : index + 2]
        return [int(token) for token in self.recomputed.tokens[start:end]]

    def rows_told(self, index: int) -> list[int | None] | None:
        """Local rows that accept_index names, None for an entry of -1; None if it was not recorded."""
        index_rows, origin = self.verifies.ragged("accept_index"), int(self.verifies.origin[index])
        if not self._named[index]:
            return None
        return [None if entry == -1 else int(entry) - origin for entry in index_rows[index].tolist()]

    @cached_property
    def _ties(self) -> Mask:
        """Verifies whose recorded path is as right as the kernel's."""
        return tied_paths(self.recomputed)

    @property
    def _settled(self) -> Mask:
        """Verifies of which it is known how many rows are accepted."""
        return mask(self.recomputed.exact & ~self._ties)

    @cached_property
    def _named(self) -> Mask:
        """Verifies whose accept_index says of each of its entries which row that is."""
        return mask(self.verifies.ragged("accept_index").filled & (self.verifies.origin != NULL))

    @cached_property
    def _judged(self) -> Mask:
        return mask((self.recomputed.kernel > 0) & ~self.idle)

    @cached_property
    def _entry_differs(self) -> Mask:
        """Which entries of all accept_index are not what the kernel has there."""
        index, path, exact = self.verifies.ragged("accept_index"), self.recomputed.path, self.recomputed.exact
        owners = index.owners
        due = path.at(owners, index.within)
        empty = index.values == -1
        wrong = np.where(
            empty, (due != NULL) & exact[owners], index.values - self.verifies.origin[owners] != due
        )
        return mask(wrong & (self._named & self._judged)[owners])

    @property
    def _cut(self) -> Mask:
        """The kernel's path is longer than all of accept_index."""
        index = self.verifies.ragged("accept_index")
        longer = self.recomputed.path.lengths > index.lengths
        return mask(self.recomputed.exact & longer & self._named)

    def _count_differs(self, index: int) -> Difference | None:
        verifies = self.verifies
        due = int(self.recomputed.lens[index] if self._settled[index] else verifies.accepted[index])
        z = verifies.non_draft
        for what, value, right in (
            ("accept_len", int(verifies.accept_len[index]), due),
            ("num_correct_drafts", int(verifies.num_correct[index]), None if z is None else due - z),
        ):
            if NULL not in (value, due) and right is not None and value != right:
                return Difference(what, None, right, value)
        return None

    def _token_differs(self, index: int) -> Difference:
        predict = self.verifies.ragged("predict")[index]
        due = zip(self.rows_due(index), self.tokens_due(index), strict=True)
        for k, (row, token) in enumerate(due):
            if token != predict[row]:
                return Difference("predict", k, token, int(predict[row]))
        raise ValueError(f"verify {index} does not differ")
