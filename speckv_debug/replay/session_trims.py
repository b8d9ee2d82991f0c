"""What OWN-TRIM looks at: trims of session rows, each with the lengths that the host reports next."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from speckv_debug.kernels.reserve import page_ceil
from speckv_debug.replay.lengths import Lengths, Picked
from speckv_debug.replay.lives import NEVER
from speckv_debug.replay.not_said import not_said
from speckv_debug.replay.ragged import NULL, Int64s, Mask
from speckv_debug.replay.searching import first_with

TRIM = "session_trim"
CURSORS = ("committed", "allocated", "swa_evicted")
"""Lengths that a trim cuts: valid positions, positions with a slot, positions that the sliding window gave up."""


class SessionTrims(Picked):
    """One instance a release of kind `session_trim`.

    SGLang `StreamingSession._trim_overshoot`, `_free_tail` cut all of them to the target (0.5.22 and later to the page
    below where the window's cursor is past it); the rest of the target's page stays with the row.

    Attributes:
        after: The life's next `lengths` event, -1 if there is none or it tells of something else.
        saved: `seq` of the session's save where no `lengths` came before it, though all are recorded; NEVER otherwise.
    """

    reads = ("cache",)
    columns_from = ("lengths", "release", "cache")
    rests_on: Mapping[str, tuple[str, ...]] = {
        "lengths": ("row", "epoch", "cause"),
        "release": ("row", "epoch", "kind"),
    }

    def __init__(self, lengths: Lengths) -> None:
        super().__init__(lengths, "release", lengths.columns("release").texts("kind").equal(TRIM))
        self._table = lengths.columns("lengths")
        self.not_said = not_said("release", self.columns, "kind")
        self.after = self._next()
        self.saved = self._saves()

    def _next(self) -> Int64s:
        """Only the event right behind the trim counts: a later one would tell of another length."""
        if not len(self):
            return self.index
        rows = np.flatnonzero(self.lengths.main & (self.lengths.lives.of("lengths") >= 0))
        own, seqs = self.lengths.lives.of("lengths")[rows], self._table.ints("seq")[rows]
        after = np.append(rows, -1)[first_with((own,), seqs, (self.life,), self.ints("seq"))]
        told = np.append(self._table.texts("cause").equal(TRIM), False)
        return np.where(told[after], after, -1)

    def _saves(self) -> Int64s:
        cache, drops = self.lengths.columns("cache"), self.lengths.columns("drop")
        rows = np.flatnonzero(cache.texts("action").equal("session_save"))
        found = np.full(len(self), NEVER, dtype=np.int64)
        if not len(self) or not len(rows) or not self.info.records("lengths", TRIM):
            return found
        left_out = drops.texts("table").equal("lengths") | ~drops.texts("table").known
        late = drops.ints("seq")[left_out].max(initial=NULL)
        names, seqs = cache.texts("request"), cache.ints("seq")
        mine, since, until = self.columns.texts("request"), self.ints("seq"), self._told_next()
        for at in np.flatnonzero((self.after < 0) & (since > late)).tolist():
            name, first = mine[int(self.index[at])], int(since[at])
            own = [int(seqs[row]) for row in rows.tolist() if name is not None and names[row] == name]
            found[at] = min((seq for seq in own if first < seq < until[at]), default=NEVER)
        return found

    def _told_next(self) -> Int64s:
        """`seq` of the life's next `lengths` of the main pool, whatever it tells; NEVER if there is none."""
        rows = np.flatnonzero(self.lengths.main & (self.lengths.lives.of("lengths") >= 0))
        own, seqs = self.lengths.lives.of("lengths")[rows], self._table.ints("seq")[rows]
        return np.append(seqs, NEVER)[first_with((own,), seqs, (self.life,), self.ints("seq"))]

    @property
    def looks_further(self) -> Mask:
        """The lengths behind a trim may lie behind a window of the process."""
        return np.ones(len(self), dtype=np.bool_)

    @cached_property
    def target(self) -> Int64s:
        """Length that is kept, NULL if it is not told."""
        return self.ints("target")

    @cached_property
    def page_size(self) -> Int64s:
        """Of the allocator, as the trim has it where the pool is not declared; NULL if unknown."""
        space = self.lengths.namespaces.all[self.lengths.namespaces.main]
        return np.full(len(self), space.page_size) if space.paged else self.ints("page_size")

    def before(self, name: str) -> Int64s:
        """A cursor as it was: of the release, or of the life's last `lengths` event."""
        if self.columns.has(name):
            return self.ints(name)
        earlier = self.lengths.previous(self.ints("seq"), self.life)
        return np.append(self._table.ints(name), NULL)[earlier]

    def cursor(self, name: str) -> Int64s:
        """A cursor behind the trim, as it was where the session is saved without other lengths; NULL if it is not told."""
        told = np.append(self._table.ints(name), NULL)[self.after]
        return np.where(self.saved != NEVER, self.before(name), told) if len(self) else told

    def bound(self, name: str) -> Int64s:
        """How far that cursor may reach."""
        if name != "allocated":
            return self.target
        pairs = zip(self.target.tolist(), self.page_size.tolist(), strict=True)
        ends = [page_ceil(end, size) if end != NULL and size > 0 else NULL for end, size in pairs]
        return np.array(ends, dtype=np.int64)

    def past(self, name: str) -> Mask:
        """Where a cursor reaches too far."""
        cursor, bound = self.cursor(name), self.bound(name)
        return np.asarray((cursor != NULL) & (bound != NULL) & (cursor > bound), dtype=np.bool_)

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the release to the lengths behind it or the save without any, to the end where none follow."""
        ends = np.append(self._table.ints("seq"), NEVER)[self.after]
        return self.ints("seq"), np.minimum(ends, self.saved)
