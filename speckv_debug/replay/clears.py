"""Clears of C128 compressor rings: the ring rows that are due and those that the engine emptied."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.clear_owners import ClearOwners
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, any_per_list, mask
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.writes import of_first_row

RING_KIND = "c128_state"
RING_SIZE = "c128_ring_size"
"""The setting that says how many rows a ring has."""
WIDEST_RING = 1 << 20
"""Rows of a ring; one beyond is no ring that an engine has."""


def only_verify(verifies: VerifyBatch, of_verify: Int64s, step: Int64s, of_event: Int64s) -> Int64s:
    """The verify of each event's step that has the same value, -1 if there is none, or more than one."""
    if not len(step):
        return np.empty(0, dtype=np.int64)
    keys = np.hstack([np.stack([verifies.step, of_verify]), np.stack([step, of_event])])
    number, count = numbered(keys), len(verifies)
    times = np.bincount(number[:count], minlength=int(number.max(initial=-1)) + 1)
    found = np.full(len(times), -1, dtype=np.int64)
    found[number[:count]] = np.arange(count)
    alone = (times[number[count:]] == 1) & (step != NULL)
    return np.where(alone, found[number[count:]], -1)


def requests_in(clear: Columns, verifies: VerifyBatch) -> Int64s:
    """Code of each clear's request among those of the verifies, -1 if none has it."""
    codes = {name: code for code, name in enumerate(verifies.request.names)}
    return clear.texts("request").numbered(codes)


def reach(seq: Int64s, verifies: VerifyBatch, *accepts: Int64s) -> tuple[Int64s, Int64s]:
    """First and last `seq` of each event and of the verifies that `accepts` name for it, -1 for none."""
    first, last = seq.copy(), seq.copy()
    for found in accepts:
        of_accept = np.append(verifies.seq, 0)[found]
        first = np.where(found < 0, first, np.minimum(first, of_accept))
        last = np.where(found < 0, last, np.maximum(last, of_accept))
    return first, last


class Clears:
    """`state_clear` events of C128 rings, with the verifies that they belong to.

    Clears of other pools, and of request row 0 without a request, which pads the batch, are left out.

    Attributes:
        index: Rows in `state_clear`.
        rows: Ring rows that each clear empties.
    """

    def __init__(
        self,
        clear: Columns,
        verifies: Callable[[], VerifyBatch],
        info: Process,
        accepted: Callable[[], Int64s],
    ) -> None:
        """Take n of a verify from `accepted`, NULL where it is not known."""
        self.columns, self._verifies, self.info, self._accepted = clear, verifies, info, accepted
        others = [pool.name for pool in info.pools if pool.kind != RING_KIND]
        self.index = np.flatnonzero(~clear.texts("pool").equal(*others) & ~of_first_row(clear))
        self.step, self.row, self.ring = (self.ints(name) for name in ("step", "row", "ring_size"))
        self.width, self.rows = self.ints("width"), clear.lists("ring_rows").take(self.index)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def verifies(self) -> VerifyBatch:
        """The accept events as columns; most recordings have no clears and need none."""
        return self._verifies()

    def place(self, index: int) -> Place:
        """Where the clear stands."""
        return place_of(self.columns, int(self.index[index]))

    def ints(self, name: str) -> Int64s:
        """A column of the table, for these clears."""
        return self.columns.ints(name)[self.index]

    @cached_property
    def _request(self) -> Int64s:
        return requests_in(self.columns, self.verifies)[self.index]

    @property
    def whole(self) -> Mask:
        """Clears without a width: the whole ring is emptied as its row ends."""
        return mask(self.width == NULL)

    @property
    def ringed(self) -> Mask:
        """Clears of a ring that an engine may have."""
        return mask((self.ring > 0) & (self.ring <= WIDEST_RING))

    @cached_property
    def accept(self) -> Int64s:
        """The accept of the same step and request row, -1 if there is none, more than one, or another request's.

        Without a row that of the request.
        """
        found = only_verify(self.verifies, self.verifies.row, self.step, self.row)
        theirs = np.append(self.verifies.request.codes.astype(np.int64), -1)[found]
        named = self.columns.texts("request").known[self.index] & (theirs >= 0)
        foreign = named & (theirs != self._request)
        return np.where(self.row == NULL, self.own, np.where(foreign, -1, found))

    @cached_property
    def own(self) -> Int64s:
        """The accept of the same step and request as a clear after a verify, -1 if there is none, or more than one."""
        of_verify = self.verifies.request.codes.astype(np.int64)
        found = only_verify(self.verifies, of_verify, self.step, self._request)
        return np.where((self._request < 0) | self.whole, -1, found)

    def _of_accept(self, of_verify: Int64s, passed: str) -> Int64s:
        found = np.append(of_verify, NULL)[self.accept]
        return np.where(found == NULL, self.ints(passed), found)

    @cached_property
    def before(self) -> Int64s:
        """L: of the accept, else as the engine passed it."""
        return self._of_accept(self.verifies.seq_len, "seq_len")

    @cached_property
    def accepted(self) -> Int64s:
        """n: of the accept, else as the engine passed it."""
        return self._of_accept(self._accepted(), "accept_len")

    @cached_property
    def own_row(self) -> Int64s:
        """The row of each clear's request in the verify of its step; NULL where `own` names none."""
        return np.append(self.verifies.row, NULL)[self.own]

    @cached_property
    def wrong_request(self) -> Mask:
        """Clears of another row than that of their request."""
        return mask((self.own_row != NULL) & (self.row != NULL) & (self.row != self.own_row))

    @property
    def wrong_values(self) -> Mask:
        """Clears that empty some row and leave other values than 0 and -inf."""
        (first, told), (second, also) = (self.columns.floats(n) for n in ("first_half", "second_half"))
        wrong = (told & (first != 0)) | (also & (second != -np.inf))
        return mask(wrong[self.index] & (self.rows.lengths > 0))

    def value(self, name: str, index: int) -> str:
        """What a half was left at, in short."""
        values, known = self.columns.floats(name)
        at = int(self.index[index])
        return f"{values[at]:g}" if known[at] else "unknown"


class RingClears(Clears):
    """One instance a clear, beside the ring rows that are due."""

    reads = ("accept", "state_clear")

    def __init__(self, clear: Columns, verifies: Callable[[], VerifyBatch], info: Process) -> None:
        super().__init__(clear, verifies, info, lambda: verifies().accepted)

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """The clear and the accepts that say what is due, or around which one would be."""
        first, last = reach(self.ints("seq"), self.verifies, self.accept, self.own)
        since, until = self._owners.reach()
        return np.minimum(first, since), np.maximum(last, until)

    @cached_property
    def _owners(self) -> ClearOwners:
        named = self.columns.texts("request").known[self.index]
        request = np.where(named, self._request, NULL)
        step = np.where(self.whole, NULL, self.step)
        return ClearOwners(self.verifies, self.ints("seq"), step, request, self.row)

    @cached_property
    def nobodys(self) -> Mask:
        """Clears after a verify of a request, or row, that no verify of the step has, all of which were seen."""
        told = self.info.records("accept")
        return mask(self._owners.nobodys & (self._owners.begun | self.info.from_start) & told)

    @property
    def unseen(self) -> Mask:
        """Clears after a verify of which no verify was seen, though all are recorded: of the step, or of the request where the
        step may begin before the recording, or a verify of the step lacks its request or row.
        """
        told = self.info.records("accept")
        part = self._owners.unsure | (self._owners.nobodys & ~self.nobodys)
        return mask((part | (~self.whole & ~self._owners.seen)) & told)

    @property
    def rowless(self) -> Mask:
        """Clears that do not say whose ring they empty."""
        return mask(self.row == NULL)

    @cached_property
    def resized(self) -> Mask:
        """Clears that count by a ring of another size than the pool's, as the process line has it."""
        size = self.info.settings.get(RING_SIZE)
        told = isinstance(size, int) and not isinstance(size, bool)
        return mask(self.ringed & (self.ring != size)) if told else np.zeros(len(self), dtype=np.bool_)

    @cached_property
    def many_sizes(self) -> Mask:
        """Clears of a pool whose clears have several ring sizes, where none is known to be the right one."""
        if RING_SIZE in self.info.settings or not len(self):
            return np.zeros(len(self), dtype=np.bool_)
        pool = self.columns.texts("pool").codes.astype(np.int64)[self.index]
        told = self.ring != NULL
        pairs = np.unique(np.stack((pool[told], self.ring[told])), axis=1)[0]
        several = np.unique(pairs)[np.unique(pairs, return_counts=True)[1] > 1]
        return np.isin(pool, several)

    @cached_property
    def sized(self) -> Mask:
        """Clears of which all that goes in is known; one with an accept_len and no width has lost its width."""
        n = self.accepted
        counted = (
            (self.before >= 0) & (n >= 0) & (n <= self.rows_verified) & (self.rows_verified <= self.ring)
        )
        counted &= self.width != NULL
        return mask(self.ringed & np.where(self.whole, self.ints("accept_len") == NULL, counted))

    @cached_property
    def judged(self) -> Mask:
        """Clears of which the due and the emptied rows are known."""
        return mask(self.sized & self.rows.filled)

    @property
    def uno(self) -> Mask:
        """Clears of a verify that starts from one past the frontier."""
        return mask(np.append(self.verifies.of("algorithm", "uno"), False)[self.accept] & (self.accept >= 0))

    @cached_property
    def verify_width(self) -> Int64s:
        """w of the accept, NULL where there is none."""
        width: Int64s = np.append(self.verifies.width, NULL)[self.accept]
        return width

    @property
    def rows_verified(self) -> Int64s:
        """w: rows of the verify, some of which a clear that is too narrow leaves; as the engine passed it without an accept."""
        return np.where(self.whole, self.width, np.maximum(self.width, self.verify_width))

    @property
    def wider(self) -> Mask:
        """Clears of more rows than their verify has: a ragged one is padded."""
        return mask((self.verify_width != NULL) & ~self.whole & (self.width > self.verify_width))

    @cached_property
    def offsets(self) -> tuple[Int64s, Int64s]:
        """First and end of the offsets `d` from L whose rows `(L + d) mod ring` are due; the whole ring at a row's end."""
        end = np.where(self.rows_verified <= 1, 0, self.rows_verified)
        first = np.minimum(self.accepted, end)
        return np.where(self.whole, 0, first), np.where(self.whole, self.ring, end)

    def _start(self) -> Int64s:
        start = np.where(self.whole | ~self.sized, 0, self.before)
        return start % np.where(self.sized, self.ring, 1)

    @cached_property
    def wrong_rows(self) -> Mask:
        """Clears that empty other ring rows than are due, in any order."""
        owners, values = self.rows.owners, self.rows.values
        told = self.judged[owners]
        owners, values = owners[told], values[told]
        inside = (values >= 0) & (values < self.ring[owners])
        first, end = self.offsets
        mine, row = owners[inside], values[inside]
        offset = (row - self._start()[mine]) % self.ring[mine]
        due = (offset >= first[mine]) & (offset < end[mine])
        distinct = np.unique(mine[due] * WIDEST_RING + row[due]) // WIDEST_RING
        short = np.bincount(distinct, minlength=len(self)) != end - first
        stray = any_per_list(~inside, owners, len(self)) | any_per_list(~due, mine, len(self))
        return mask(self.judged & (short | stray))

    def due(self, index: int) -> Int64s:
        """Ring rows that are due, ascending; none if that is not known."""
        if not self.sized[index]:
            return np.empty(0, dtype=np.int64)
        first, end = (int(bound[index]) for bound in self.offsets)
        return np.sort((int(self._start()[index]) + np.arange(first, end)) % self.ring[index])
