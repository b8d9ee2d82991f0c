"""What the committed prefix of each request has to hold: who reads it, and which write each position must come from."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.replay.lives import Lives
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, expanded, mask, spread
from speckv_debug.replay.shadow_rows import FARTHEST, RowEntries
from speckv_debug.replay.shadow_units import ShadowUnits
from speckv_debug.replay.shadow_writes import ShadowWrites


class Readers:
    """Forwards of live request rows, sorted by life and unit: each reads the positions before `start`.

    Attributes:
        event: Index into the writes.
        life, start, unit, time: Of that event.
    """

    def __init__(self, writes: ShadowWrites, units: ShadowUnits, lives: Lives) -> None:
        start, life = writes.start, writes.life
        alive = (life >= 0) & (writes.time < np.append(lives.end, 0)[life])
        events = np.flatnonzero(alive & ~writes.padded & (start >= 0) & (start < FARTHEST))
        self.event = events[np.lexsort((writes.time[events], units.of_event[events], life[events]))]
        self.life, self.start = life[self.event], start[self.event]
        self.unit, self.time = units.of_event[self.event], writes.time[self.event]

    def __len__(self) -> int:
        return len(self.event)

    @cached_property
    def follows(self) -> Mask:
        """Readers that are not the first of their life."""
        found = np.zeros(len(self), dtype=np.bool_)
        found[1:] = self.life[1:] == self.life[:-1]
        return found

    def reached(self, count: Int64s) -> Int64s:
        """How far the life was read or committed before each reader: one after another commits `count` positions."""
        end = self.life * (2 * FARTHEST) + np.minimum(self.start + count, 2 * FARTHEST - 1)
        farthest = np.maximum.accumulate(end) % (2 * FARTHEST)
        return np.where(self.follows, np.append(farthest[-1:], farthest[:-1])[: len(self)], 0)

    @cached_property
    def last(self) -> Int64s:
        """The last reader of each one's life."""
        return np.searchsorted(self.life, self.life, side="right") - 1

    def first_from(self, life: Int64s, unit: Int64s) -> Int64s:
        """The first reader of each life in the unit or after it; that of a later life, or `len`, if there is none."""
        width = int(max(self.unit.max(initial=0), unit.max(initial=0))) + 2
        return np.searchsorted(self.life * width + self.unit, life * width + unit)

    def first_after(self, life: Int64s, seq: Int64s) -> Int64s:
        """The same by `seq`: readers whose forward comes after it."""
        ranks = np.sort(np.concatenate((self.time, seq)))
        mine = self.life * (len(ranks) + 1) + np.searchsorted(ranks, self.time)
        return np.searchsorted(mine, life * (len(ranks) + 1) + np.searchsorted(ranks, seq), side="right")


class Dues:
    """One entry a position that a forward commits, or that a forward reads though nobody was seen to commit it.

    Attributes:
        reader: The forward that commits, or meets, the position.
        position: In the request's sequence.
        element: The written row that has to be there, -1 if unknown.
        seen: Whether it was seen to be committed.
    """

    def __init__(self, readers: Readers, writes: ShadowWrites, entries: RowEntries, paths: Ragged) -> None:
        self.readers, self.writes = readers, writes
        verify = writes.verify[readers.event]
        path = paths.take(np.maximum(verify, 0)) if len(paths) else None
        lengths = writes.slots.lengths[readers.event]
        is_verify = writes.mode[readers.event]
        count = np.where(is_verify, 0, lengths)
        if path is not None:
            count = np.where(is_verify & (verify >= 0), path.lengths, count)
        owners, k = expanded(count)
        row = k if path is None else np.where(is_verify[owners], path.at(owners, k), k)
        element = writes.slots.offsets[readers.event][owners] + row
        element = np.where((row >= 0) & (row < lengths[owners]), element, -1)
        met, place = self._met(count, entries)
        self.reader = np.concatenate((owners, met))
        self.position = np.concatenate((readers.start[owners] + k, place))
        self.element = np.concatenate((element, np.full(len(met), -1, dtype=np.int64)))
        self.seen = mask(np.arange(len(self.reader)) < len(owners))
        self.in_place = np.concatenate((row == k, np.ones(len(met), dtype=np.bool_)))

    def __len__(self) -> int:
        return len(self.reader)

    def _met(self, count: Int64s, entries: RowEntries) -> tuple[Int64s, Int64s]:
        """(reader, position) of what is read and was not seen to be committed, as far as the row's entries are known."""
        readers = self.readers
        base, before = readers.life * FARTHEST, np.minimum(readers.reached(count), readers.start)
        low = np.searchsorted(entries.keys, base + before)
        high = np.searchsorted(entries.keys, base + readers.start)
        self.unmapped: Mask = mask(readers.start - before > high - low)
        owners = np.repeat(np.arange(len(readers)), high - low)
        key = entries.keys[np.repeat(low, high - low) + spread(high - low)]
        return owners, key % FARTHEST

    @cached_property
    def key(self) -> Int64s:
        """`life * FARTHEST + position`, as in `RowEntries`."""
        return self.readers.life[self.reader] * FARTHEST + self.position

    @cached_property
    def token(self) -> Int64s:
        """The token due, NULL if unknown."""
        return np.append(self.writes.tokens, NULL)[self.element]

    @cached_property
    def first(self) -> Int64s:
        """The reader that looks first: the next forward of the life, or the one that meets the position; -1 for none."""
        following = np.where(self.reader < self.readers.last[self.reader], self.reader + 1, -1)
        return np.where(self.seen, following, self.reader)

    @cached_property
    def until(self) -> Int64s:
        """The last reader that may look: the one that commits the same position anew, or the life's last."""
        order = np.lexsort((self.seen, self.reader, self.key))
        key, reader = self.key[order], self.reader[order]
        same = np.append(key[1:] == key[:-1], False)[: len(order)]
        following = np.append(reader[1:], 0)[: len(order)]
        found = np.empty(len(order), dtype=np.int64)
        found[order] = np.where(same, following, self.readers.last[reader])
        return found

    @property
    def committed_at(self) -> Int64s:
        """When each was committed or met."""
        return self.readers.time[self.reader]
