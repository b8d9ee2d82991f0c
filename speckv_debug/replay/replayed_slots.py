"""The slots that verifies write to, read again from their request rows."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, any_per_list, starts
from speckv_debug.replay.recompute import Kernels
from speckv_debug.replay.replayed_tables import RowWrites, Windows
from speckv_debug.replay.verifies import VerifyBatch


class RowImages(NamedTuple):
    """What each verify's request row holds at its rows' positions, parallel to `RecomputedSlots.owners`.

    Attributes:
        written: By the writes into the row.
        snapshot: As the collector saw it when the slots were built (`table_slots`).
        ahead: By a write for a later step that stands before the accept; NULL if there is none.
    """

    written: Int64s
    snapshot: Int64s
    ahead: Int64s

    @property
    def entries(self) -> Int64s:
        """What counts: the writes, the snapshot where they are not known, else NULL."""
        return np.where(self.written == NULL, self.snapshot, self.written)

    @property
    def torn(self) -> Mask:
        """Entries of which the writes and the snapshot say different things: either may have been read."""
        both = (self.written != NULL) & (self.snapshot != NULL) & (self.written != self.snapshot)
        return np.asarray(both | (self.ahead != NULL), dtype=np.bool_)


class RecomputedSlots:
    """`out_cache_loc` by `kernels.locate.row_slots`, out of request rows and lengths alone."""

    def __init__(self, verifies: VerifyBatch, writes: Columns, spaces: Namespaces, kernels: Kernels) -> None:
        self.verifies, self._writes, self._spaces, self.kernels = verifies, writes, spaces, kernels
        self.widths: Int64s = np.where(verifies.sized & ~verifies.padding, verifies.width, 0)
        self.owners = np.repeat(np.arange(len(verifies), dtype=np.int64), self.widths)
        self.row = np.arange(len(self.owners), dtype=np.int64) - starts(self.widths)[self.owners]

    @cached_property
    def windows(self) -> Windows:
        """The rows as the writes leave them; unknown where not every write was recorded."""
        if not self.verifies.info.records("table_write"):
            return Windows.unknown(len(self.owners))
        return RowWrites(self._writes, self.verifies, self._spaces).windows(self.widths)

    @cached_property
    def images(self) -> RowImages:
        """All that is known of the entries that are read."""
        snapshot = self.verifies.ragged("table_slots").at(self.owners, self.row)
        return RowImages(self.windows.slots, snapshot, self.windows.ahead)

    @cached_property
    def slots(self) -> Ragged:
        """Recomputed slots of each verify's rows, NULL where the row's entry is not known.

        A row changes from verify to verify, so the kernel gets one row a verify: the entries of its window as they stood then.
        Which entries these are, and what stands in them, is worked out in `images`; the kernel reads them in order.
        """
        offsets, found = starts(self.widths), np.full(len(self.owners), NULL, dtype=np.int64)
        for width in np.unique(self.widths[self.widths > 0]).tolist():
            rows = np.flatnonzero(self.widths == width)
            at = offsets[rows][:, None] + np.arange(width)
            ends = np.arange(len(rows), dtype=np.int64)
            found[at] = self.kernels.window(self.images.entries[at], ends, np.zeros_like(ends), width)
        return Ragged(found, offsets, self.widths > 0)


class ReplayedSlots:
    """One instance a verify: its recorded slots beside those that its request row gives."""

    reads = ("accept", "table_write")

    def __init__(self, recomputed: RecomputedSlots) -> None:
        self.recomputed, self.verifies = recomputed, recomputed.verifies

    def __len__(self) -> int:
        return len(self.verifies)

    def place(self, index: int) -> Place:
        """The verify's place."""
        return self.verifies.place(index)

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the oldest write that an entry rests on to the accept."""
        first, written = self.verifies.seq.copy(), self.recomputed.windows.written
        np.minimum.at(first, self.recomputed.owners[written != NULL], written[written != NULL])
        return first, self.verifies.seq

    @cached_property
    def used(self) -> Int64s:
        """What the engine used, parallel to `recomputed.owners`."""
        return self.verifies.ragged("out_cache_loc").at(self.recomputed.owners, self.recomputed.row)

    @cached_property
    def wrong(self) -> Mask:
        """Entries that no reading of the row gives."""
        due, images = self.recomputed.slots.values, self.recomputed.images
        other = (self.used == images.snapshot) | (self.used == images.ahead)
        known = (due != NULL) & (self.used != NULL)
        return np.asarray(known & (due != self.used) & ~other, dtype=np.bool_)

    @cached_property
    def rowless(self) -> Mask:
        """Verifies of which an entry of the row is known neither from writes nor from a snapshot."""
        lacking = self._any(self.recomputed.slots.values == NULL)
        return np.asarray(lacking | ~(self.recomputed.widths > 0), dtype=np.bool_)

    @cached_property
    def torn(self) -> Mask:
        """Verifies of which an entry of the row may have been read before or after it changed."""
        return self._any(self.recomputed.images.torn)

    def _any(self, hit: Mask) -> Mask:
        return any_per_list(hit, self.recomputed.owners, len(self))
