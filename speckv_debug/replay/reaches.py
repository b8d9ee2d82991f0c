"""How far each forward of the target writes into its request row, beside the length that was allocated then."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from speckv_debug.replay.lengths import ENDINGS
from speckv_debug.replay.lives import NEVER
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask, starts
from speckv_debug.replay.target_writes import OfTargetWrites


class Reaches(OfTargetWrites):
    """One instance a verify of a request, and a row of an extend or plain decode of the target."""

    reads = ("accept", "forward", "lengths", "reserve", "alloc", "release")
    columns_from = (*reads, "row_alloc", "row_free")
    rests_on: Mapping[str, tuple[str, ...]] = {
        **OfTargetWrites.rests_on,
        "release": ("row", "epoch", "kind"),
        "reserve": ("row", "epoch"),
    }

    @cached_property
    def count(self) -> Int64s:
        """Positions written, NULL if unknown."""
        slots = self.writes.forward.lists("slots")
        told = self.writes.both(self.writes.verifies.width, np.where(slots.present, slots.lengths, NULL))
        if not (told[~self.writes.of_verify] == NULL).any():
            return told
        tokens = self.writes.forward.lists("tokens")
        counted = np.where(tokens.present, tokens.lengths, NULL)
        return np.where(told == NULL, self.writes.both(self.writes.verifies.width, counted), told)

    @cached_property
    def end(self) -> Int64s:
        """One more than the highest position written, NULL if unknown."""
        start, count = self.writes.start, self.count
        known = (start != NULL) & (count != NULL)
        return np.where(known, start + np.where(known, count, 0), NULL)

    @cached_property
    def allocated(self) -> Int64s:
        """K as last reported, or decided by a reserve, before the forward; NULL if it never was."""
        told = np.append(self.lengths.columns("lengths").ints("allocated"), NULL)[self._report]
        decided = np.append(self.lengths.columns("reserve").ints("new_allocated"), NULL)[self._reserve]
        return np.where(self.by_reserve, decided, told)

    @cached_property
    def by_reserve(self) -> Mask:
        """K was told by a reserve, not by a report."""
        return mask(self._seq("reserve", self._reserve) > self._seq("lengths", self._report))

    @cached_property
    def told_at(self) -> Int64s:
        """`seq` of the event that told K, -1 if there is none."""
        return np.maximum(self._seq("reserve", self._reserve), self._seq("lengths", self._report))

    @cached_property
    def granted(self) -> Int64s:
        """Slots granted to the life since K was reported; 0 where a reserve told it, which counts them in."""
        total, lives = np.append(self._grants, 0), self.lengths.lives
        until, since = (lives.before("alloc", seq, self.life) for seq in (self.seq, self.told_at))
        return np.where(self.by_reserve, 0, total[until] - total[since])

    @cached_property
    def beyond(self) -> Mask:
        """The forward writes at K or behind it."""
        found = (self.end != NULL) & (self.allocated != NULL) & (self.end > self.allocated)
        return mask(found & (self.end > self.allocated + self.granted)) if found.any() else mask(found)

    @property
    def looks_further(self) -> Mask:
        """What a window of the process may not hold all of: what was granted since K was told."""
        return self.beyond

    @cached_property
    def ended(self) -> Mask:
        """The request had ended when the forward came: it was in flight."""
        return mask(self.seq > np.append(self.lengths.lives.end, NEVER)[self.life])

    @property
    def growth_told(self) -> Mask:
        """Whether the recording shows every growth of the row."""
        lengths, reserve = (self.info.records(name) for name in ("lengths", "reserve"))
        return mask(lengths | (self.writes.of_verify & reserve))

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the report of K to the forward."""
        return np.where(self.told_at < 0, self.seq, self.told_at), self.seq

    @cached_property
    def _report(self) -> Int64s:
        """The life's last `lengths` event before the forward that says K of a request that goes on, -1 if none."""
        told, lives = self.lengths.columns("lengths"), self.lengths.lives
        late = told.ints("seq") > np.append(lives.end, NEVER)[lives.of("lengths")]
        going_on = self.lengths.main & ~told.texts("cause").equal(*ENDINGS) & ~late
        return lives.before("lengths", self.seq, self.life, going_on & (told.ints("allocated") != NULL))

    @cached_property
    def _reserve(self) -> Int64s:
        """The life's last reserve before the forward, -1 if none."""
        known = self.lengths.columns("reserve").ints("new_allocated") != NULL
        return self.lengths.lives.before("reserve", self.seq, self.life, known)

    @property
    def _grants(self) -> Int64s:
        """Slots of the main pool that the life of each alloc has got up to it."""
        alloc, lives, spaces = self.lengths.columns("alloc"), self.lengths.lives, self.lengths.namespaces
        order = np.argsort(lives.of("alloc"), kind="stable")
        main = (spaces.indices(alloc.texts("pool")) == spaces.main) & (alloc.ints("granted") != 0)
        counts = np.where(main, alloc.lists("slots").lengths, 0)[order]
        before, own = starts(counts), lives.of("alloc")[order]
        total = np.empty(len(order), dtype=np.int64)
        total[order] = before[1:] - before[np.searchsorted(own, own)]
        return total

    def _seq(self, table: str, events: Int64s) -> Int64s:
        """`seq` of events of a table, -1 for none."""
        return np.append(self.lengths.columns(table).ints("seq"), -1)[events]
