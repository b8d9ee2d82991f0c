"""Reports of lengths that have to repeat what was reported last: nothing came between that changes them."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.engine_version import may_free_on_reject, may_preclaim
from speckv_debug.replay.lengths import ENDINGS, Lengths
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask

TABLES = ("lengths", "reserve", "release")
CAUSES = ("spec_prepare", "verify_commit")


class Repeats:
    """One instance a decode preparation, a commit and a release behind a `lengths` event of the same life.

    A preparation and a release find the committed length as it was reported; a commit and a release the allocated one: it
    grows by preparations, which report it, and a V1 worker's commit sets it back behind a free of what was rejected. None
    where `lengths` were not recorded whole.

    Attributes:
        table, event: Of which of `TABLES` the instance is, and which event; `life` is its row's.
        before: The life's previous `lengths` event.
    """

    columns_from: tuple[str, ...] = ("lengths", "reserve", "release")
    reads: tuple[str, ...] = ("lengths",)

    def __init__(self, lengths: Lengths) -> None:
        self.lengths, self.info = lengths, lengths.info
        self._columns = [lengths.columns(name) for name in TABLES]
        if may_free_on_reject(self.info):
            self.reads, self.columns_from = (*self.reads, "free"), (*self.columns_from, "free")
        told = self._columns[0].texts("cause").equal(*CAUSES) & lengths.main
        rows = [np.flatnonzero(told), *(np.arange(len(columns)) for columns in self._columns[1:])]
        table = np.repeat(np.arange(len(TABLES)), [len(each) for each in rows])
        event = np.concatenate(rows)
        life = np.concatenate([lengths.lives.of(n)[r] for n, r in zip(TABLES, rows, strict=True)])
        seq = np.concatenate([c.ints("seq")[r] for c, r in zip(self._columns, rows, strict=True)])
        over = seq > np.append(lengths.lives.end, NULL)[life]
        before = lengths.previous(seq, life)
        ended = np.append(self._columns[0].texts("cause").equal(*ENDINGS), False)[before]
        kept = (before >= 0) & ~over & ~ended & self.info.records("lengths")
        order = np.flatnonzero(kept)[np.argsort(seq[kept], kind="stable")]
        self.table, self.event, self.seq, self.before = table[order], event[order], seq[order], before[order]
        self.life = life[order]

    def __len__(self) -> int:
        return len(self.seq)

    def place(self, index: int) -> Place:
        """Where the report stands."""
        return place_of(self._columns[int(self.table[index])], int(self.event[index]))

    @property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the report before to this one."""
        return self._columns[0].ints("seq")[self.before], self.seq

    def now(self, name: str) -> Int64s:
        """`committed` or `allocated` as reported here, NULL if absent."""
        found = np.full(len(self), NULL, dtype=np.int64)
        for number, columns in enumerate(self._columns):
            mine = self.table == number
            found[mine] = columns.ints(name)[self.event[mine]]
        return found

    def due(self, name: str) -> Int64s:
        """The same as it was reported before."""
        return self._columns[0].ints(name)[self.before]

    @cached_property
    def differs(self) -> dict[str, Mask]:
        """Length → reports that change it without a reason."""
        return {
            "committed": self._apart("committed") & ~self._commits & (not may_preclaim(self.info)),
            "allocated": self._apart("allocated") & ~self._grows & ~(self._set_back & self._rejected),
        }

    @property
    def looks_further(self) -> Mask:
        """What a window of the process may not hold all of: the free of what was rejected."""
        return np.asarray(self._set_back & ~self._rejected, dtype=np.bool_)

    @property
    def _set_back(self) -> Mask:
        """Commits of a worker that may free what was rejected, with the allocated length at the committed one."""
        to_committed = self.now("allocated") == self.now("committed")
        shrinks = self._apart("allocated") & (self.now("allocated") < self.due("allocated"))
        return np.asarray(
            self._commits & shrinks & to_committed & may_free_on_reject(self.info), dtype=np.bool_
        )

    @cached_property
    def _rejected(self) -> Mask:
        """Between the two lies a free of what was rejected, or it may."""
        free = self.lengths.columns("free")
        reason = free.texts("reason")
        seqs = free.ints("seq")[reason.equal("reject") | ~reason.known]
        first, last = (np.searchsorted(seqs, end) for end in self.spans)
        return np.asarray((last > first) | (not self.info.records("free")), dtype=np.bool_)

    @cached_property
    def silent(self) -> Mask:
        """Reports that do not tell a length which was told before, and which the next one goes on from."""
        untold = [(self.now(name) == NULL) & (self.due(name) != NULL) for name in ("committed", "allocated")]
        own = self.table != TABLES.index("reserve")  # what a preparation decides from is LEN-ALLOC's
        return np.asarray(own & ((untold[0] & ~self._commits) | untold[1]), dtype=np.bool_)

    @property
    def _commits(self) -> Mask:
        return self._caused("verify_commit")

    @property
    def _grows(self) -> Mask:
        return self._caused("spec_prepare")

    def _caused(self, cause: str) -> Mask:
        """Reports of `lengths` with this cause."""
        of_cause = np.append(self._columns[0].texts("cause").equal(cause), False)
        return np.asarray(of_cause[np.where(self.table == 0, self.event, -1)], dtype=np.bool_)

    @cached_property
    def hidden(self) -> Mask:
        """Between the two lies a report of which the row or a length is not known."""
        told, lives = self._columns[0], self.lengths.lives.of("lengths")
        absent = told.absent("committed") | told.absent("allocated") | told.absent("cause") | (lives < 0)
        loose = np.sort(told.ints("seq")[self.lengths.main & absent])
        first, last = self.spans
        return np.asarray(np.searchsorted(loose, last, side="right") > np.searchsorted(loose, first))

    def _apart(self, name: str) -> Mask:
        now, due = self.now(name), self.due(name)
        return np.asarray((now != NULL) & (due != NULL) & (now != due))
