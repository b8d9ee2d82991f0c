"""Entries of request rows as the recorded writes leave them, at the time of each verify or other reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.ragged import NULL, Int64s, Mask, spread
from speckv_debug.replay.searching import search_pairs


class Readers(Protocol):
    """Who reads rows, from which position `seq_len` on; int64[n] each, NULL where unknown."""

    @property
    def seq(self) -> Int64s: ...
    @property
    def step(self) -> Int64s: ...
    @property
    def row(self) -> Int64s: ...
    @property
    def epoch(self) -> Int64s: ...
    @property
    def seq_len(self) -> Int64s: ...
    def __len__(self) -> int: ...


AT_ONCE = 1 << 22
"""Entries that are sorted at once, as far as one life of a row allows."""


@dataclass(frozen=True, slots=True)
class Windows:
    """What the rows hold where verifies read them, one entry after another; NULL where no write is known.

    Attributes:
        slots: What the last write that counts put there.
        written: Its `seq`.
        ahead: What a write for a later step put there before the accept was recorded; NULL if none did.
    """

    slots: Int64s
    written: Int64s
    ahead: Int64s

    @classmethod
    def unknown(cls, count: int) -> Windows:
        """Nothing is known of `count` entries."""
        return cls(*(np.full(count, NULL, dtype=np.int64) for _ in range(3)))


@dataclass(frozen=True, slots=True)
class _Entries:
    """What writes put into positions, sorted by key and `seq`; a key is a position of one life."""

    key: Int64s
    seq: Int64s
    step: Int64s
    slot: Int64s


class RowWrites:
    """The writes into request rows, for the verifies that read them.

    A write counts for a verify of the same row and epoch whose accept comes after it, unless it prepares a later step:
    host lanes overlap. What an earlier epoch left is stale, and not known here.

    Args:
        writes: `table_write`.
        verifies: Verifies, or other readers of rows.
        spaces: Of the process.
        namespace: Whose table: the number of an allocator; the main one if None.
    """

    def __init__(
        self, writes: Columns, verifies: Readers, spaces: Namespaces, namespace: int | None = None
    ) -> None:
        self.verifies = verifies
        self.seq, self.step = writes.ints("seq"), writes.ints("step")
        self.start, self.slots = writes.ints("start"), writes.lists("slots")
        keys = np.stack([writes.ints("row"), writes.ints("epoch")])
        number = numbered(np.hstack([keys, np.stack([verifies.row, verifies.epoch])]))
        due = spaces.main if namespace is None else namespace
        mine = spaces.indices(writes.texts("pool")) == due
        self._life, self._of_verify = _without_untold(
            np.where(mine & (keys != NULL).all(axis=0), number[: len(writes)], -1),
            (self.start == NULL) | (self.start < 0) | ~self.slots.present,
            np.where((verifies.row == NULL) | (verifies.epoch == NULL), -1, number[len(writes) :]),
        )

    def windows(self, widths: Int64s) -> Windows:
        """The entries of the positions `[L, L + widths[i])` of each verify."""
        found = Windows.unknown(int(widths.sum()))
        owners = np.repeat(np.arange(len(self.verifies)), widths)
        position = self.verifies.seq_len[owners] + spread(widths)
        lives = np.where(self.verifies.seq_len[owners] == NULL, -1, self._of_verify[owners])
        for share in self._shares(widths):
            at, rows = np.flatnonzero(share[lives]), np.flatnonzero(share[self._life])
            key, entries = self._entries(rows, lives[at], position[at])
            if len(entries.key):
                _look_up(
                    entries, key, self.verifies.seq[owners[at]], self.verifies.step[owners[at]], at, found
                )
        return found

    def _shares(self, widths: Int64s) -> Iterator[Mask]:
        """Masks over the numbers of lives, about `AT_ONCE` entries each; the last entry is that of -1, no life."""
        count = int(max(self._life.max(initial=-1), self._of_verify.max(initial=-1))) + 1
        load = np.zeros(count + 1, dtype=np.int64)
        np.add.at(load, self._of_verify, widths)
        np.add.at(load, self._life, self.slots.lengths)
        share = np.append(np.cumsum(load[:-1]) // AT_ONCE, -1)
        for number in np.unique(share[:-1]).tolist():
            yield np.asarray(share == number)

    def _entries(self, rows: Int64s, lives: Int64s, position: Int64s) -> tuple[Int64s, _Entries]:
        """The key of each (life, position), and what the writes `rows` ever put there."""
        first, end = _reach(int(self._life.max(initial=-1)) + 1, lives, position)
        life, start = self._life[rows], self.start[rows]
        low = np.maximum(start, first[life])
        counts = np.maximum(np.minimum(start + self.slots.lengths[rows], end[life]) - low, 0)
        owner = np.repeat(np.arange(len(rows)), counts)
        place = low[owner] + spread(counts)
        key = numbered(np.hstack([np.stack([life[owner], place]), np.stack([lives, position])]))
        written, seq = key[: len(owner)], self.seq[rows][owner]
        order = np.lexsort((seq, written))
        slot = self.slots.at(rows[owner], place - start[owner])
        step = self.step[rows][owner]
        return key[len(owner) :], _Entries(written[order], seq[order], step[order], slot[order])


def _without_untold(writes: Int64s, untold: Mask, verifies: Int64s) -> tuple[Int64s, Int64s]:
    """Lives of writes and verifies; -1 also for those with a write that does not say what it put where."""
    unclear = np.unique(writes[untold & (writes >= 0)])
    return tuple(np.where(np.isin(lives, unclear), -1, lives) for lives in (writes, verifies))  # type: ignore[return-value]


def _reach(count: int, lives: Int64s, position: Int64s) -> tuple[Int64s, Int64s]:
    """Per life the span of positions that is read, empty where none is."""
    inside = lives < count
    first = np.full(count, np.iinfo(np.int64).max, dtype=np.int64)
    end = np.zeros(count, dtype=np.int64)
    np.minimum.at(first, lives[inside], position[inside])
    np.maximum.at(end, lives[inside], position[inside] + 1)
    return np.where(end > 0, first, 0), end


def _look_up(entries: _Entries, key: Int64s, seq: Int64s, step: Int64s, at: Int64s, found: Windows) -> None:
    """Fill `found[at]` with the last entry of each key before `seq`."""
    place = search_pairs(entries.key, entries.seq, key, seq) - 1
    left = (place >= 0) & (entries.key[place] == key)
    ahead = np.full(len(key), NULL, dtype=np.int64)
    late = np.flatnonzero(left & (step != NULL))
    while len(late := late[entries.step[place[late]] > step[late]]):
        first = late[ahead[late] == NULL]
        ahead[first] = entries.slot[place[first]]
        place[late] -= 1
        left[late] = (place[late] >= 0) & (entries.key[place[late]] == key[late])
        late = late[left[late]]
    found.slots[at] = np.where(left, entries.slot[place], NULL)
    found.written[at] = np.where(left, entries.seq[place], NULL)
    found.ahead[at] = ahead
