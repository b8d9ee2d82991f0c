"""What becomes of a grant: its slots enter the request's row, and the row's new length is reported."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.lengths import Lengths
from speckv_debug.replay.lives import NEVER
from speckv_debug.replay.places import Place, place_at, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, any_per_list, mask
from speckv_debug.replay.searching import first_with

GROWING = ("extend", "decode", "spec_reserve")
REPORTING = ("extend", "decode", "spec_prepare")
TABLES = ("alloc", "table_write", "lengths")


class Grants:
    """One instance a grant of the main pool to a request row that grows; none where `TABLES` were not recorded whole.

    The next write into the row ends with what was granted since the one before it, and the next report of a growth names
    the row's new end.

    Attributes:
        index: The `alloc` events.
        write, report: The `table_write` and the `lengths` event that belong to each, -1 if there is none.
    """

    columns_from = TABLES
    reads = TABLES

    def __init__(self, lengths: Lengths) -> None:
        self.lengths, self.info = lengths, lengths.info
        self.columns, self._writes, self._told = (lengths.columns(name) for name in TABLES)
        self.slots = self.columns.lists("slots")
        self.index = np.flatnonzero(self._growing() & all(self.info.records(name) for name in TABLES))
        self.seq, self.life = self._of("seq"), lengths.lives.of("alloc")[self.index]
        self.write = self._next_write(self.seq)
        self.report = self._next_report()

    def __len__(self) -> int:
        return len(self.index)

    def place(self, index: int) -> Place:
        """The grant's place, at the report behind it or else at the write into the row."""
        place, write, report = (
            place_of(self.columns, int(self.index[index])),
            self.write[index],
            self.report[index],
        )
        if report >= 0:
            return place_at(place, int(self._told.ints("seq")[report]))
        return place if write < 0 else place_at(place, int(self._writes.ints("seq")[write]))

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the grant to its write and report, or to what shows that they are missing."""
        seqs = [_at(self._writes.ints("seq"), self.write), _at(self._told.ints("seq"), self.report)]
        last = np.where((self.write < 0) | self.unreported, self._shown, np.maximum(*seqs))
        return self.seq, np.maximum(np.where(last == NEVER, self.seq, last), self.seq)

    @cached_property
    def elsewhere(self) -> Mask:
        """Grants whose slots are not where the row grew, or that entered no row until the request ended."""
        lengths = self.slots.lengths[self.index]
        owners, k = np.repeat(np.arange(len(self)), lengths), self.slots.take(self.index).within
        total = np.append(self._writes.lists("slots").lengths, 0)[self.write]
        first = total - self._behind - lengths
        found = np.full(len(owners), NULL)
        inside = self.write[owners] >= 0
        lists, places = self.write[owners][inside], (first[owners] + k)[inside]
        found[inside] = self._writes.lists("slots").at(lists, places)
        other = any_per_list(mask(found != self.slots.take(self.index).values), owners, len(self))
        return np.where(self.write < 0, self._shown != NEVER, other)

    @cached_property
    def misreported(self) -> Mask:
        """Grants behind which another length is reported than where the row ends."""
        return mask(
            (self.report >= 0) & (self.due != NULL) & (self.reported != NULL) & (self.reported != self.due)
        )

    @cached_property
    def unreported(self) -> Mask:
        """Grants behind which no length is reported until the request grows again or ends."""
        return mask((self.report < 0) & (self.write >= 0) & (self._shown != NEVER))

    @cached_property
    def unseen(self) -> Mask:
        """Grants behind which the recording ends before the row is written."""
        return mask((self.write < 0) & (self._shown == NEVER))

    @property
    def looks_further(self) -> Mask:
        """The write or the report may lie behind a window of the process."""
        return mask((self.write < 0) | (self.report < 0))

    @cached_property
    def due(self) -> Int64s:
        """Where the row ends with the write, NULL if it doesn't say."""
        start = np.append(self._writes.ints("start"), NULL)[self.write]
        return np.where(
            start == NULL, NULL, start + np.append(self._writes.lists("slots").lengths, 0)[self.write]
        )

    @cached_property
    def reported(self) -> Int64s:
        """Allocated length that is reported behind the write, NULL if unknown."""
        return np.append(self._told.ints("allocated"), NULL)[self.report]

    @cached_property
    def hidden(self) -> Mask:
        """Grants behind which a write, a report or a release does not say whose it is, or what."""
        rows, ends = self._writes.lists("slots"), self.lengths.columns("release")
        lacking = (
            (self._writes, self._writes.absent("row") | self._writes.absent("epoch") | ~rows.filled),
            (self._told, (self.lengths.lives.of("lengths") < 0) | self._told.absent("cause")),
            (ends, ends.absent("kind")),
        )
        loose = np.sort(np.concatenate([columns.ints("seq")[which] for columns, which in lacking]))
        first, last = self.spans
        return mask(np.searchsorted(loose, last, side="right") > np.searchsorted(loose, first))

    def _growing(self) -> Mask:
        spaces, granted = self.lengths.namespaces, self.columns.ints("granted")
        main = spaces.indices(self.columns.texts("pool")) == spaces.main
        named = self.lengths.lives.of("alloc") >= 0
        told = self.slots.filled & (self.slots.lengths > 0) & (granted != 0)
        return mask(main & named & told & self.columns.texts("reason").equal(*GROWING))

    def _next_write(self, seq: Int64s) -> Int64s:
        spaces = self.lengths.namespaces
        main = np.flatnonzero(spaces.indices(self._writes.texts("pool")) == spaces.main)
        keys = tuple(self._writes.ints(name)[main] for name in ("row", "epoch"))
        asked = (self._of("row"), self._of("epoch"))
        found: Int64s = np.append(main, -1)[first_with(keys, self._writes.ints("seq")[main], asked, seq)]
        return found

    def _next_report(self) -> Int64s:
        """The first report of a growth behind the write; none if the row grows again before."""
        which = np.flatnonzero(self._told.texts("cause").equal(*REPORTING) & self.lengths.main)
        own, seq = self.lengths.lives.of("lengths")[which], self._told.ints("seq")[which]
        written = _at(self._writes.ints("seq"), self.write)
        behind = np.where(self.write < 0, NEVER, written)
        found = np.append(which, -1)[first_with((own,), seq, (self.life,), behind)]
        found[_at(self._told.ints("seq"), found) >= self._shown] = -1
        return np.asarray(found, dtype=np.int64)

    @cached_property
    def _shown(self) -> Int64s:
        """`seq` by which the write and the report have to be there: the next growth of the row, or the life's end."""
        again = first_with((self.life,), self.seq, (self.life,), np.maximum(self.seq, self._written))
        end = np.append(self.lengths.lives.end, NEVER)[self.life]
        end = np.where(end > self._written, end, NEVER)  # a life that is over tells nothing more
        return np.asarray(np.minimum(_at(self.seq, again), end), dtype=np.int64)

    @property
    def _written(self) -> Int64s:
        written = _at(self._writes.ints("seq"), self.write)
        return np.where(written == NEVER, self.seq, written)

    @cached_property
    def _behind(self) -> Int64s:
        """Slots that the same write takes from later grants."""
        lengths = self.slots.lengths[self.index]
        order = np.lexsort((self.seq, self.write))
        sums = np.cumsum(lengths[order])
        last = np.searchsorted(self.write[order], self.write[order], side="right") - 1
        behind = np.empty(len(self), dtype=np.int64)
        behind[order] = sums[last] - sums
        return behind

    def _of(self, name: str) -> Int64s:
        return self.columns.ints(name)[self.index]


def _at(seq: Int64s, index: Int64s) -> Int64s:
    """`seq` of some events, NEVER where there is none."""
    return np.append(seq, NEVER)[index]
