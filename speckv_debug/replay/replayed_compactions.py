"""Compactions done again: accepted rows to the front of their block."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from speckv_debug.replay.compactions import Compactions
from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import (
    NULL,
    Int64s,
    Mask,
    Ragged,
    any_per_list,
    expanded,
    mask,
    spread,
    starts,
)
from speckv_debug.replay.recompute import Kernels
from speckv_debug.replay.replayed_paths import ReplayedPaths


class Fronts(NamedTuple):
    """The front of each instance's block, one accepted row after another.

    Attributes:
        owners, k: Instance and place of each row.
        values: What the kernel puts there, NULL where the block is not known.
    """

    owners: Int64s
    k: Int64s
    values: Int64s


class ReplayedCompactions:
    """One instance a verify and a compaction of its step, as in `Compactions`."""

    reads = Compactions.reads

    def __init__(self, recorded: Compactions, paths: ReplayedPaths, kernels: Kernels) -> None:
        self.recorded, self.verifies, self._paths, self._kernels = recorded, recorded.verifies, paths, kernels
        self.verify, self.event = recorded.verify, recorded.event
        self.not_said = recorded.not_said

    def __len__(self) -> int:
        return len(self.recorded)

    def place(self, index: int) -> Place:
        """The verify's place, at the `seq` of the compaction."""
        return self.recorded.place(index)

    def kind(self, index: int) -> str:
        """The tensor."""
        return self.recorded.kind(index)

    @property
    def spans(self) -> tuple[Int64s, Int64s]:
        """As of the compaction."""
        return self.recorded.spans

    @property
    def path(self) -> Ragged:
        """Accepted local rows of each verify."""
        return self._paths.rows

    @cached_property
    def block(self) -> Int64s:
        """Where each instance's block begins in `before`: `block_start`, else behind the blocks of the batch."""
        start, width = self.verifies.block_start[self.verify], self.verifies.width[self.verify]
        first = np.searchsorted(self.event, self.event)
        ends = starts(np.where(width == NULL, 0, width))
        behind = ends[:-1] - ends[first]
        count = np.bincount(self.event, minlength=len(self.recorded.before))
        total = np.bincount(self.event, weights=np.maximum(width, 0), minlength=len(count))
        whole = (total == self.recorded.before.lengths)[self.event]
        return np.where(start == NULL, np.where(whole, behind, NULL), start)

    @cached_property
    def fronts(self) -> Fronts:
        """`kernels.compact.compact_accepted` of `before`, the valid prefix alone."""
        n = self.path.lengths[self.verify]
        offsets, values = starts(n), np.full(int(n.sum()), NULL, dtype=np.int64)
        width = self.verifies.width[self.verify]
        shaped = self.path.present[self.verify] & self.verifies.sized[self.verify] & (n > 0)
        shaped &= (self.block >= 0) & (self.block + width <= self.recorded.before.lengths[self.event])
        for w in np.unique(width[shaped]).tolist():
            for at in self._kernels.pieces(np.flatnonzero(shaped & (width == w)), w):
                self._compact(at, w, offsets, values)
        return Fronts(*expanded(n), values)

    def _compact(self, at: Int64s, width: int, offsets: Int64s, values: Int64s) -> None:
        """Fill in `values` of the instances `at`, which have blocks of one width."""
        blocks = self._blocks(at, width)
        at, blocks = at[(blocks != NULL).all(axis=1)], blocks[(blocks != NULL).all(axis=1)]
        if len(at):
            n = self.path.lengths[self.verify[at]]
            rows = self.path.padded(self.verify[at], int(n.max()), -1)
            front = self._kernels.compact(blocks, rows)[:, : rows.shape[1]]
            values[np.repeat(offsets[at], n) + spread(n)] = front[rows >= 0]

    def _blocks(self, at: Int64s, width: int) -> Int64s:
        places = (self.block[at][:, None] + np.arange(width)).reshape(-1)
        return self.recorded.before.at(np.repeat(self.event[at], width), places).reshape(-1, width)

    @cached_property
    def found(self) -> Int64s:
        """What `after` holds there, parallel to `fronts.values`; NULL where it does not reach so far."""
        owners, k, _ = self.fronts
        start = self.after_start[owners]
        return self.recorded.after.at(self.event[owners], np.where(start == NULL, -1, start + k))

    @cached_property
    def after_start(self) -> Int64s:
        """Where each instance's block begins in `after`, which may be gathered to blocks as wide as accept_index."""
        index = self.verifies.ragged("accept_index")
        ends = starts(index.lengths[self.verify])
        behind = ends[:-1] - ends[np.searchsorted(self.event, self.event)]
        gathered = np.where(index.present[self.verify] & self.recorded.gathered, behind, NULL)
        return np.where(self.recorded.in_blocks, self.block, gathered)

    @cached_property
    def wrong(self) -> Mask:
        """Rows, parallel to `fronts.values`, that stand elsewhere in the engine's result."""
        due = self.fronts.values
        return mask((due != NULL) & (self.found != NULL) & (due != self.found))

    @cached_property
    def unread(self) -> Mask:
        """Instances of which a row's value, due or found, is not known."""
        missing = mask((self.fronts.values == NULL) | (self.found == NULL))
        return any_per_list(missing, self.fronts.owners, len(self))

    @property
    def pathless(self) -> Mask:
        """Instances whose accepted path is neither recomputed nor recorded."""
        return mask(~self.path.present[self.verify])
