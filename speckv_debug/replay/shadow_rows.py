"""Which slot each position of a request row names, and since when: req_to_token over time."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.lives import NEVER
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.shadow_writes import ShadowWrites
from speckv_debug.replay.verifies import VerifyBatch

FARTHEST = 1 << 31
"""No engine's row is that long; a position beyond it is taken for a damaged value."""


class RowEntries:
    """Entries of request rows, sorted by life, position and `seq`; a write of the value that stands there is none.

    Where the recording lists `table_write`, they are its rows, and of positions that none of these names, what the
    verifies found there (`table_slots`, else `out_cache_loc`). Otherwise the verifies alone are known.

    Attributes:
        key: `life * FARTHEST + position`.
        seq: When the entry came to be.
        slot: What it names.
    """

    def __init__(self, writes: ShadowWrites, table: Columns, info: Process, batch: VerifyBatch) -> None:
        self.listed = info.records("table_write")
        seen = _seen(writes, batch)
        written = _written(writes, table) if self.listed else seen[:, :0]
        every = np.concatenate((written, seen[:, ~_among(seen[0], written[0])]), axis=1)
        every = every[:, np.lexsort((every[1], every[0]))]
        same = (every[0][1:] == every[0][:-1]) & (every[2][1:] == every[2][:-1])
        every = every[:, np.append(np.ones(min(1, every.shape[1]), dtype=np.bool_), ~same)]
        self.key: Int64s = every[0]
        self.seq: Int64s = every[1]
        self.slot: Int64s = every[2]

    def __len__(self) -> int:
        return len(self.key)

    @cached_property
    def keys(self) -> Int64s:
        """The distinct keys, ascending."""
        new = np.append(np.ones(min(1, len(self)), dtype=np.bool_), self.key[1:] != self.key[:-1])
        distinct: Int64s = self.key[new]
        return distinct

    def before(self, key: Int64s, seq: Int64s) -> Int64s:
        """How many entries lie before each (key, seq); the one before it is about that key, or none is."""
        times, ranked = self._ranked
        wanted = np.searchsorted(self.keys, key) * len(times)
        return np.searchsorted(ranked, wanted + np.searchsorted(times, seq))

    @cached_property
    def _ranked(self) -> tuple[Int64s, Int64s]:
        """The times of all entries, ascending, and one number an entry that orders it by key and time."""
        times = np.sort(np.append(self.seq, NEVER))
        group = np.cumsum(
            np.append(np.zeros(min(1, len(self)), dtype=np.int64), self.key[1:] != self.key[:-1])
        )
        return times, group * len(times) + np.searchsorted(times, self.seq)

    def last(self, key: Int64s, seq: Int64s) -> Int64s:
        """The last entry of each key before `seq`, -1 if there is none."""
        at = self.before(key, seq) - 1
        return np.where((at >= 0) & (np.append(self.key, -1)[at] == key), at, -1)


def _among(keys: Int64s, others: Int64s) -> Mask:
    """Which keys occur among others; `np.isin` hashes, and keys of this form collide."""
    ordered = np.sort(others)
    return mask(np.append(ordered, NULL)[np.searchsorted(ordered, keys)] == keys)


def _written(writes: ShadowWrites, table: Columns) -> Int64s:
    slots, start = table.lists("slots"), table.ints("start")
    life = np.where(writes.is_target(table.texts("pool")), writes.lives_of(table), -1)
    life = np.where((start < 0) | (start >= FARTHEST), -1, life)
    position = start[slots.owners] + slots.within
    keep = (life[slots.owners] >= 0) & (position < FARTHEST)
    owners = slots.owners[keep]
    return np.stack((life[owners] * FARTHEST + position[keep], table.ints("seq")[owners], slots.values[keep]))


def _seen(writes: ShadowWrites, batch: VerifyBatch) -> Int64s:
    """What each verify found in its window, right before its forward."""
    events = np.flatnonzero(
        (writes.verify >= 0) & (writes.life >= 0) & (writes.start >= 0) & (writes.start < FARTHEST)
    )
    verify = writes.verify[events]
    table, loc = batch.ragged("table_slots").take(verify), batch.ragged("out_cache_loc").take(verify)
    slots, at = loc.values.copy(), (loc.owners, loc.within)
    own = table.at(*at)
    slots = np.where(own == NULL, slots, own)
    owners = events[loc.owners]
    key = writes.life[owners] * FARTHEST + writes.start[owners] + loc.within
    return np.stack((key, writes.time[owners] - 1, slots))
