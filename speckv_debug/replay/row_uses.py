"""Who uses a request row: each life that events name, beside the event that handed its row out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from speckv_debug.replay.engine_version import reserves_first_row
from speckv_debug.replay.lengths import Lengths
from speckv_debug.replay.lives import NEVER
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.writes import padding_rows

GRANT, RETURN = "row_alloc", "row_free"
USING = ("alloc", "reserve", "lengths", "forward", "accept", "release")
"""Tables of what is done for a request in its row."""
HOLDING = ("alloc", "reserve", "lengths", "release")
"""Of these, what is done only for a request that holds its row: a result or a last forward may come after its return."""
PREPARING = ("extend", "spec_prepare", "session_restore")
"""Causes of lengths that are no result."""
LIFE, STRANGER, LATE, NAMELESS = range(4)
"""Kinds of instances."""


class RowUses:
    """One instance a life, and one more for what is done in it by another request, or after its end.

    Attributes:
        kind_of: `LIFE`, `STRANGER` (the first event of a life that names this other request), `LATE`, or `NAMELESS` (an
            event that tells the row or the epoch, and not both).
        table, event: Of which of `tables` the instance's event is, and which.
        life: The life that it names.
    """

    reads = ("cache",)
    columns_from = (GRANT, RETURN, "cache", *USING)
    rests_on: Mapping[str, tuple[str, ...]] = {GRANT: ("row", "epoch")}
    tables = (GRANT, *USING)

    def __init__(self, lengths: Lengths, missing_head: bool) -> None:
        self.lengths, self.lives = lengths, lengths.lives
        self._columns = [lengths.columns(name) for name in self.tables]
        self._numbers: dict[str, int] = {}
        self._texts = [columns.texts("request") for columns in self._columns]
        for texts in self._texts:
            for name in texts.names:
                self._numbers.setdefault(name, len(self._numbers))
        self.granted, self._first_grant = self._grants()
        self.from_start = lengths.info.from_start and not missing_head and len(self._columns[0]) > 0
        found = [self._begins(), *self._strangers(), *self._late(), *self._nameless()]
        kinds, tables, events = (np.concatenate(column) for column in zip(*found, strict=True))
        seq = self._of_events("seq", tables, events)
        order = np.argsort(seq, kind="stable")
        self.kind_of, self.table, self.event = kinds[order], tables[order], events[order]
        self.seq, self.life = seq[order], self._lives_of(self.table, self.event)

    def __len__(self) -> int:
        return len(self.seq)

    def place(self, index: int) -> Place:
        """Where the event stands."""
        return place_of(self._columns[int(self.table[index])], int(self.event[index]))

    def kind(self, index: int) -> str:
        """What is wrong with it is told apart."""
        return str(int(self.kind_of[index]))

    @property
    def tells_grants(self) -> bool:
        """Whether each row that is handed out is in the recording."""
        return self.lengths.info.records(GRANT)

    @cached_property
    def not_granted(self) -> Mask:
        """Lives whose row was not handed out to them before they used it."""
        return mask((self.kind_of == LIFE) & (self.granted[self.life] > self.seq))

    @cached_property
    def of_padding(self) -> Mask:
        """Lives of requests in the row that belongs to padding, and that was not handed out to them: a grant is judged as such."""
        in_first = (self.kind_of == LIFE) & (np.append(self.lives.rows, NULL)[self.life] == 0)
        found = mask(in_first & (self.table > 0) & reserves_first_row(self.lengths.info))
        for at in np.flatnonzero(found).tolist():
            found[at] = self._request_at(at) >= 0
        return found

    @property
    def unnamed(self) -> Mask:
        """Lives whose row was handed out to a request without a name."""
        granted = np.append(self._first_grant, -1)[self.life] >= 0
        return mask((self.kind_of == LIFE) & granted & (np.append(self._owner, -1)[self.life] < 0))

    @cached_property
    def strange(self) -> Mask:
        """Events of a life that name a request which its row was not handed out to, and no session handed it on."""
        strange = mask(self.kind_of == STRANGER)
        if not strange.any():
            return strange
        cache = self.lengths.columns("cache")
        saved = cache.texts("action").equal("session_save", "session_restore") & cache.texts("request").known
        theirs, seqs = cache.texts("request").numbered(self._numbers)[saved], cache.ints("seq")[saved]
        for at in np.flatnonzero(strange).tolist():
            mine = (int(self._owner[self.life[at]]), self._request_at(at))
            strange[at] = not (np.isin(theirs, mine) & (seqs < self.seq[at])).any()
        return strange

    @property
    def hidden(self) -> Mask:
        """Events of a life that name another request, where a cache event may hide that a session handed the row on."""
        if not self.strange.any():
            return self.strange
        cache = self.lengths.columns("cache")
        sessions = cache.texts("action").equal("session_save", "session_restore")
        loose = cache.absent("action") | (sessions & cache.absent("request"))
        first = cache.ints("seq")[loose].min(initial=NEVER)
        return mask(self.strange & ((not self.lengths.info.records("cache")) | (self.seq > first)))

    @property
    def late(self) -> Mask:
        """What is done for a life whose row had been given back."""
        return mask(self.kind_of == LATE)

    @property
    def looks_further(self) -> Mask:
        """What a window of the process may not hold all of."""
        return mask((self.kind_of != LIFE) | self.of_padding)

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the event that hands the row out, or from the beginning where there is none, to the use."""
        first = np.append(self.granted, NEVER)[self.life]
        return np.where(first <= self.seq, first, 0), self.seq

    def owner(self, index: int) -> str | None:
        """The request that the row was handed out to, None if it has no name or there is none."""
        at = int(self._first_grant[self.life[index]])
        return None if at < 0 else self._texts[0][at]

    @cached_property
    def returned(self) -> Int64s:
        """`seq` at which each life's row was given back, NEVER if it was not."""
        return self.lives.first(RETURN)

    def _grants(self) -> tuple[Int64s, Int64s]:
        """`seq` of each life's first grant, NEVER if it has none, and which event it is."""
        own, seq = self.lives.of(GRANT), self._columns[0].ints("seq")
        first = np.full(len(self.lives), -1, dtype=np.int64)
        rows = np.flatnonzero(own >= 0)[::-1]
        first[own[rows]] = rows
        return np.append(seq, NEVER)[first], first

    @cached_property
    def _owner(self) -> Int64s:
        """The request of each life's first grant as a number, -1 if it has no name or there is none."""
        return np.append(self._texts[0].numbered(self._numbers), -1)[self._first_grant]

    def _begins(self) -> tuple[Int64s, Int64s, Int64s]:
        """The event of each life by which it is judged: its grant, or what came before."""
        early = np.append(self.lives.begin < self.granted, False)
        table, event = np.zeros(len(self.lives), dtype=np.int64), self._first_grant.copy()
        seq = self.granted.copy()
        for number in range(1, len(self.tables)) if early.any() else ():
            own = self.lives.of(self.tables[number])
            rows = np.flatnonzero(early[own] & self._real(number))[::-1]
            first = np.full(len(self.lives), -1, dtype=np.int64)
            first[own[rows]] = rows
            seqs = np.append(self._columns[number].ints("seq"), NEVER)[first]
            table, event = np.where(seqs < seq, number, table), np.where(seqs < seq, first, event)
            seq = np.minimum(seq, seqs)
        used = seq != NEVER  # what only a return or rows of padding name is no life
        return np.full(int(used.sum()), LIFE), table[used], event[used]

    def _strangers(self) -> Iterator[tuple[Int64s, Int64s, Int64s]]:
        """The first event of each life and request that is not the one of its first grant; grants are judged as such."""
        owner, keys, found = np.append(self._owner, -1), [], []
        for number, name in enumerate(self.tables):
            own = self.lives.of(name)
            request, due = self._texts[number].numbered(self._numbers), owner[own]
            other = (request >= 0) & (due >= 0) & (request != due)
            rows = np.flatnonzero(other & self._real(number)) if other.any() else np.empty(0, dtype=np.int64)
            pair, first = np.unique(own[rows] * len(self._numbers) + request[rows], return_index=True)
            rows = rows[first]
            keys.append(pair)
            found.append(
                np.stack((self._columns[number].ints("seq")[rows], np.full(len(rows), number), rows))
            )
        pair, (seq, table, event) = np.concatenate(keys), np.hstack(found)
        order = np.lexsort((seq, pair))
        first = order[np.append(True, pair[order][1:] != pair[order][:-1])[: len(order)]]
        first = first[table[first] > 0]
        yield np.full(len(first), STRANGER), table[first], event[first]

    def _late(self) -> Iterator[tuple[Int64s, Int64s, Int64s]]:
        """What is done for lives whose row had been given back."""
        returned = np.append(self.returned, NEVER)
        for name in HOLDING:
            number = self.tables.index(name)
            columns = self._columns[number]
            late = columns.ints("seq") > returned[self.lives.of(name)]
            if name == "lengths":
                late &= columns.texts("cause").equal(*PREPARING)
            rows = np.flatnonzero(late)
            yield np.full(len(rows), LATE), np.full(len(rows), number), rows

    def _nameless(self) -> Iterator[tuple[Int64s, Int64s, Int64s]]:
        """Events that tell their row or epoch, and not both."""
        for number, name in enumerate(self.tables[1:], start=1):
            columns = self._columns[number]
            loose = self.lives.of(name) < 0
            rows = np.flatnonzero(loose & self._real(number)) if loose.any() else np.empty(0, dtype=np.int64)
            rows = rows[~columns.absent("row")[rows] | ~columns.absent("epoch")[rows]]
            yield np.full(len(rows), NAMELESS), np.full(len(rows), number), rows

    def _real(self, number: int) -> Mask:
        """Events of a table but for rows that pad a batch."""
        if self.tables[number] == "forward":
            return ~padding_rows(self._columns[number])
        if self.tables[number] == "accept":
            return ~self.lengths.verifies.padding
        return np.ones(len(self._columns[number]), dtype=np.bool_)

    def _request_at(self, index: int) -> int:
        texts = self._texts[int(self.table[index])]
        return self._numbers.get(texts[int(self.event[index])] or "", -1)

    def _of_events(self, name: str, tables: Int64s, events: Int64s) -> Int64s:
        found = np.full(len(tables), NULL, dtype=np.int64)
        for number, columns in enumerate(self._columns):
            mine = tables == number
            found[mine] = columns.ints(name)[events[mine]]
        return found

    def _lives_of(self, tables: Int64s, events: Int64s) -> Int64s:
        found = np.full(len(tables), -1, dtype=np.int64)
        for number, name in enumerate(self.tables):
            mine = tables == number
            found[mine] = self.lives.of(name)[events[mine]]
        return found
