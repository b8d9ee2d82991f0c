"""Source and target slot of each accepted row, out of its path, its slots and its request row."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, any_per_list, mask, spread
from speckv_debug.replay.replayed_paths import ReplayedPaths
from speckv_debug.replay.replayed_slots import RecomputedSlots
from speckv_debug.replay.writes import reserved


class RecomputedPairs:
    """Source and targets of every accepted row, by `kernels.locate.accepted_pairs` and `row_slots`.

    Arrays are parallel to `path.values`; NULL where a slot is not known.
    """

    def __init__(self, paths: ReplayedPaths, slots: RecomputedSlots) -> None:
        self._paths, self._slots, self.verifies = paths, slots, slots.verifies

    @property
    def path(self) -> Ragged:
        """Accepted local rows of each verify."""
        return self._paths.rows

    @cached_property
    def owners(self) -> Int64s:
        """The verify of each row."""
        return self.path.owners

    @cached_property
    def k(self) -> Int64s:
        """The place of each row in its path."""
        return self.path.within

    @cached_property
    def written(self) -> Ragged:
        """Slots of the verify's rows: those that the forward wrote, where they were not recorded those of its row."""
        loc, again = self.verifies.ragged("out_cache_loc"), self._slots.slots
        at, row = self._slots.owners, self._slots.row
        values = np.where(loc.present[at], loc.at(at, row), again.values)
        return Ragged(values, again.offsets, again.present)

    @cached_property
    def by_window(self) -> tuple[Int64s, Int64s]:
        """Targets and sources; a target is the front of the verify window (SGLang 0.5.23)."""
        targets, sources = (np.full(len(self.owners), NULL, dtype=np.int64) for _ in range(2))
        n, width = self.path.lengths, self._slots.widths
        for w in np.unique(width[n > 0]).tolist():
            at = np.flatnonzero((width == w) & (n > 0) & (n <= w))
            if w and len(at):
                rows = self.path.padded(at, int(n[at].max()), -1)
                pairs = self._slots.kernels.pairs(self.written.padded(at, w), rows, n[at])
                places = np.repeat(self.path.offsets[at], n[at]) + spread(n[at])
                targets[places], sources[places] = pairs
        return targets, sources

    @property
    def slots_of_rows(self) -> Ragged:
        """What the request rows hold at the verifies' positions."""
        return self._slots.slots

    @property
    def source(self) -> Int64s:
        """Where each accepted row was verified."""
        return self.by_window[1]

    @property
    def window(self) -> Int64s:
        """Its target by the verify window."""
        return self.by_window[0]

    @cached_property
    def row(self) -> Int64s:
        """Its target by the request row (SGLang 0.5.12 to 0.5.22), by the window where the row is not known."""
        found = self._slots.slots.at(self.owners, self.k)
        return np.where(found == NULL, self.window, found)

    @cached_property
    def placeless(self) -> Mask:
        """Verifies with an accepted row that has no slot of its own: unknown, or the pool's dummy."""
        least = np.minimum(np.minimum(self.source, self.window), self.row)
        dummy = reserved(self.verifies.info.pool(None))
        return any_per_list(mask(least < dummy), self.owners, len(self.verifies))

    def moving(self, targets: Int64s) -> Mask:
        """Rows that are not where they have to be."""
        return mask(self.source != targets)
