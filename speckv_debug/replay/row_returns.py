"""Whether a request row comes back when its request, or the session that kept it, has ended."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.lengths import Lengths
from speckv_debug.replay.lives import NEVER
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.searching import first_with, latest_with

SETTLED, TRIM = "pool_stat", "session_trim"
TABLES = ("release", "cache")


class RowReturns:
    """One instance a release that ends a life, and a session's close, where the row was seen handed out.

    Attributes:
        table, event: Of which of `TABLES` the end is, and which event.
        life: The life that ends; of a close that of the session's last turn.
        given: `seq` of the `row_free` of the life, NEVER if there is none.
        shown: `seq` by which it has to be there: the next settled point, or the launch of a later step; NEVER if the
            recording ends before, or the row is handed out again before.
    """

    reads = ("pool_stat", "forward", "cache", "free_group", "lengths")
    columns_from = ("release", "row_alloc", "row_free", "cache", "lengths")

    def __init__(self, lengths: Lengths) -> None:
        self.lengths, self.lives = lengths, lengths.lives
        self._columns = [lengths.columns(name) for name in TABLES]
        released, closed = self._released(), self._closed()
        self.table = np.repeat(np.arange(2), (len(released), len(closed[0])))
        self.event, self.life = (
            np.concatenate((released, closed[0])),
            np.concatenate((self.lives.of("release")[released], closed[1])),
        )
        self.seq, self._step = (self._ints(name) for name in ("seq", "step"))
        self.given = np.append(self.lives.first("row_free"), NEVER)[self.life]
        self.shown = self._shown()

    def __len__(self) -> int:
        return len(self.event)

    def place(self, index: int) -> Place:
        """Where the end stands, with the life's row."""
        place, life = (
            place_of(self._columns[int(self.table[index])], int(self.event[index])),
            self.life[index],
        )
        row, epoch = int(self.lives.rows[life]), int(self.lives.epochs[life])
        return Place(seq=place.seq, step=place.step, request=place.request, row=row, epoch=epoch)

    @cached_property
    def kept(self) -> Mask:
        """Rows that did not come back, which no session keeps and no reset emptied."""
        return mask((self.given > self.shown) & (self.shown != NEVER) & ~self._excused & ~self.nameless)

    @cached_property
    def nameless(self) -> Mask:
        """No return of the life was seen, but one that does not say of which row or life it is."""
        columns = self.lengths.columns("row_free")
        seq = columns.ints("seq")[columns.absent("row") | columns.absent("epoch")]
        between = np.searchsorted(seq, self.shown, side="right") > np.searchsorted(seq, self.seq)
        return mask(between & (self.given > self.shown))

    @property
    def is_told(self) -> bool:
        """Whether every return of a row is in the recording, and all that hands one on without."""
        info = self.lengths.info
        return info.records("row_free") and info.records("cache")

    @property
    def unseen(self) -> Mask:
        """The recording ends before the row has to be back."""
        return mask((self.given == NEVER) & (self.shown == NEVER) & (self._again == NEVER))

    @property
    def looks_further(self) -> Mask:
        """The return may lie behind a window of the process, a session's last turn before it."""
        return mask((self.given == NEVER) | (self.table == 1))

    @property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the end to the return, or to what shows that there is none."""
        last = np.minimum(self.given, self.shown)
        return self.seq, np.where(last == NEVER, self.seq, np.maximum(last, self.seq))

    @cached_property
    def _granted(self) -> Mask:
        """Lives whose row was seen handed out; the last entry stands for none."""
        granted = np.zeros(len(self.lives) + 1, dtype=np.bool_)
        granted[self.lives.of("row_alloc")] = True
        granted[-1] = False
        return granted

    def _released(self) -> Int64s:
        kind = self._columns[0].texts("kind")
        return np.flatnonzero(kind.known & ~kind.equal(TRIM) & self._granted[self.lives.of("release")])

    def _closed(self) -> tuple[Int64s, Int64s]:
        """Closes of sessions, and the life whose last report of lengths before it named its request, at rest."""
        cache, told = self._columns[1], self.lengths.columns("lengths")
        closes = np.flatnonzero(cache.texts("action").equal("session_close") & cache.texts("request").known)
        if not len(closes):
            return closes, closes
        names = {name: number for number, name in enumerate(cache.texts("request").names)}
        who, seq = told.texts("request").numbered(names), told.ints("seq")
        asked = cache.texts("request").codes[closes].astype(np.int64)
        found = latest_with((who,), seq, (asked,), cache.ints("seq")[closes])
        life = np.append(self.lives.of("lengths"), -1)[found]
        at_rest = np.append(told.texts("cause").equal(TRIM), False)[found] & self._granted[life]
        return closes[at_rest], life[at_rest]

    @cached_property
    def _again(self) -> Int64s:
        """`seq` at which the row is handed out again, NEVER if it is not."""
        grants = self.lengths.columns("row_alloc")
        rows = np.append(self.lives.rows, NULL)[self.life]
        found = first_with((grants.ints("row"),), grants.ints("seq"), (rows,), self.seq)
        return np.append(grants.ints("seq"), NEVER)[found]

    @cached_property
    def _excused(self) -> Mask:
        """A session saved what a released request held, or a reset emptied all rows, before the row had to be back."""
        cache = self._columns[1]
        action, seq = cache.texts("action"), cache.ints("seq")
        resets = seq[action.equal("reset")]
        reset = np.searchsorted(resets, self.shown) > np.searchsorted(resets, self.seq)
        saves = np.flatnonzero(action.equal("session_save") & cache.texts("request").known)
        numbers: dict[str, int] = {}
        for columns in self._columns:
            for name in columns.texts("request").names:
                numbers.setdefault(name, len(numbers))
        own = cache.texts("request").numbered(numbers)[saves]
        asked = np.full(len(self), -1, dtype=np.int64)
        ends = self.table == 0
        asked[ends] = self._columns[0].texts("request").numbered(numbers)[self.event[ends]]
        found = latest_with((own,), seq[saves], (asked,), self.shown)
        begin = np.append(self.lives.begin, NEVER)[self.life]
        return mask(reset | ((asked >= 0) & (np.append(seq[saves], NULL)[found] > begin)))

    def _shown(self) -> Int64s:
        stats, launches = self.lengths.columns(SETTLED).ints("seq"), self.lengths.columns("forward")
        settled = np.append(stats, NEVER)[np.searchsorted(stats, self.seq, side="right")]
        shown = np.minimum(settled, self._later_launch(launches.ints("seq"), launches.ints("step")))
        return np.where(self._again < shown, NEVER, shown)

    def _later_launch(self, seq: Int64s, step: Int64s) -> Int64s:
        """The first forward behind each end that is of a later step than any before it and the end's own."""
        told = step != NULL
        highest, seq = np.maximum.accumulate(step[told]), seq[told]
        first = np.searchsorted(highest, self._step, side="right")
        found = np.maximum(first, np.searchsorted(seq, self.seq, side="right"))
        late = np.append(step[told], NULL)[found] > self._step
        return np.where(late & (self._step != NULL), np.append(seq, NEVER)[found], NEVER)

    def _ints(self, name: str) -> Int64s:
        first, second = (
            columns.ints(name)[self.event[self.table == number]]
            for number, columns in enumerate(self._columns)
        )
        return np.concatenate((first, second))
