"""Compactions of predictions and hidden rows, and the blocks of each verify in them."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.batches import batch_spans, verifies_of_steps
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.not_said import not_said
from speckv_debug.replay.places import Place, place_at
from speckv_debug.replay.ragged import NULL, Int64s, Mask, expanded, frozen, mask, starts
from speckv_debug.replay.verifies import VerifyBatch


class Compactions:
    """One instance a verify and a compaction of its step.

    `after` keeps the blocks of `before`, or is gathered to blocks as wide as accept_index (NGRAM's
    `predict[accept_index]`).
    """

    reads = ("accept", "compact")

    def __init__(self, compact: Columns, verifies: VerifyBatch) -> None:
        self.columns, self.verifies = compact, verifies
        steps = not_said("accept", verifies.columns, "step") if len(compact) else {}
        self.not_said = not_said("compact", compact, "step") or steps
        self.before, self.after = compact.lists("before"), compact.lists("after")
        self.verify, self.event, self._counts = verifies_of_steps(
            verifies, compact.ints("seq"), compact.ints("step")
        )

    def __len__(self) -> int:
        return len(self.verify)

    def place(self, index: int) -> Place:
        """The verify's place, at the `seq` of the compaction."""
        seq = int(self.columns.ints("seq")[self.event[index]])
        return place_at(self.verifies.place(int(self.verify[index])), seq)

    def kind(self, index: int) -> str:
        """The tensor."""
        return self.columns.texts("tensor")[int(self.event[index])] or ""

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """The verify and the compaction; where blocks are gathered, from right before the batch's first accept on."""
        accept, event = self.verifies.seq[self.verify], self.columns.ints("seq")[self.event]
        first, last = batch_spans(accept, event, self.event)
        alone = self.in_blocks
        return np.where(alone, np.minimum(accept, event), first - 1), np.where(
            alone, np.maximum(accept, event), last
        )

    @cached_property
    def plain(self) -> bool:
        """Whether it is plain that all rows are compacted as is due; False where it takes a closer look."""
        batch = self.verifies
        if not batch.plain or self.cut.any():
            return False
        from speckv_debug.replay.paths_compiled import compacted_as_due

        block = batch.block_start[self.verify]
        who = np.stack((self.verify, self.event, block, self.after_start, self.of_predictions))
        parts = (
            frozen(p)
            for e in (batch.columns.native("predict"), self.before, self.after)
            for p in (e.values, e.offsets)
        )
        return bool(compacted_as_due(who, *batch.plain_paths, *parts))

    @cached_property
    def in_blocks(self) -> Mask:
        """`after` keeps the blocks of `before`."""
        return np.asarray((self.after.lengths == self.before.lengths)[self.event], dtype=np.bool_)

    @cached_property
    def after_start(self) -> Int64s:
        """Where each instance's block begins in `after`; NULL where the list is neither of blocks nor gathered."""
        block = self.verifies.block_start[self.verify]
        width = self._index_lengths[self.verify]
        ends = starts(width)
        first = np.repeat(starts(self._counts)[:-1], self._counts)
        behind = np.where(self.gathered, ends[:-1] - ends[first], NULL)
        return np.where(self.in_blocks, block, behind)

    @property
    def _index_lengths(self) -> Int64s:
        """Entries of each verify's accept_index."""
        return self.verifies.columns.native("accept_index").lengths

    @cached_property
    def gathered(self) -> Mask:
        """`after` is gathered to the blocks of the batch's accept_index; a list of another length was cut."""
        width = self._index_lengths[self.verify]
        total = np.bincount(self.event, weights=width, minlength=len(self.after))
        return np.asarray((total == self.after.lengths)[self.event], dtype=np.bool_)

    @cached_property
    def of_predictions(self) -> Mask:
        """The tensor is the predictions."""
        return np.asarray(self.columns.texts("tensor").equal("predict")[self.event], dtype=np.bool_)

    @property
    def looks_short(self) -> bool:
        """Whether some list may be cut; whether it is, longer ones of other steps tell."""
        return bool(self._short[0].any())

    @cached_property
    def cut(self) -> Mask:
        """A list that holds neither the blocks of the batch nor, behind the compaction, their accept_index.

        A recorder that keeps short lists only is none: of the same tensor a list as long as this batch was kept whole.
        """
        short, kept, least = self._short
        tensor = self.columns.texts("tensor").codes
        longest = np.zeros(int(tensor.max(initial=-1)) + 2, dtype=np.int64)
        np.maximum.at(longest, tensor[kept], np.minimum(self.before.lengths, self.after.lengths)[kept])
        return np.asarray((short & (longest[tensor] >= least))[self.event] & self.whole, dtype=np.bool_)

    @cached_property
    def _short(self) -> tuple[Mask, Mask, Int64s]:
        """Compactions with a list that is too short for its batch, those without, and how long a whole one is."""
        width, gathered = (
            np.bincount(
                self.event,
                weights=each[self.verify] * ~self.verifies.padding[self.verify],
                minlength=len(self.after),
            )
            for each in (self.verifies.width, self._index_lengths)
        )
        before, after = self.before.lengths, self.after.lengths
        short = (before < width) | ((before == width) & (after != width) & (after != gathered))
        told = self.before.present & self.after.present
        least = np.minimum(width, gathered).astype(np.int64)
        return mask(told & short & (gathered > 0)), mask(told & ~short), least

    @cached_property
    def whole(self) -> Mask:
        """Every verify of the batch says how wide it is."""
        unsaid = (self.verifies.width == NULL) | (self._index_lengths == 0)
        return np.asarray(np.bincount(self.event, unsaid[self.verify], len(self.after))[self.event] == 0)

    def predicted(self) -> Int64s:
        """What the verify predicted in each accepted row, for each row of `due_and_found`; NULL if that is not told."""
        path = self.verifies.path
        owners, k = expanded(path.lengths[self.verify])
        local = path.values[np.repeat(path.offsets[:-1][self.verify], path.lengths[self.verify]) + k]
        found = self.verifies.ragged("predict").at(self.verify[owners], local)
        return np.where(self.of_predictions[owners], found, NULL)

    def due_and_found(self) -> tuple[Int64s, Int64s, Int64s]:
        """(instance, due, found) for each accepted row; NULL where a list does not reach so far."""
        path = self.verifies.path
        counts = path.lengths[self.verify]
        owners, k = expanded(counts)
        local = path.values[np.repeat(path.offsets[:-1][self.verify], counts) + k]
        block = self.verifies.block_start[self.verify][owners]
        due = self.before.at(self.event[owners], np.where(block == NULL, -1, block + local))
        start = self.after_start[owners]
        found = self.after.at(self.event[owners], np.where(start == NULL, -1, start + k))
        return owners, due, found
