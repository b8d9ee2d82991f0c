"""Pairs of a life and a step as one number each, and what events of other tables say of the same pair."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.ragged import NULL, Int64s, Mask


class StepKeys:
    """`of(lives, steps)` packs pairs; a pair packs to one number wherever it comes from.

    Args:
        lives: How many lives there are; -1, no life, is one more.
        steps: Every column of steps whose pairs are packed; NULL is a step of its own.
    """

    def __init__(self, lives: int, *steps: Int64s) -> None:
        known = [column[column != NULL] for column in steps]
        lowest = min((int(column.min()) for column in known if len(column)), default=0)
        highest = max((int(column.max()) for column in known if len(column)), default=0)
        self._lowest, self._span = lowest, highest - lowest + 2
        self._values = np.unique(np.concatenate(known)) if (lives + 1) * self._span >= 1 << 62 else None

    def of(self, lives: Int64s, steps: Int64s) -> Int64s:
        """One number a pair, int64."""
        if self._values is None:
            place, span = np.where(steps == NULL, 0, steps - self._lowest + 1), self._span
        else:
            place = np.where(steps == NULL, 0, np.searchsorted(self._values, steps) + 1)
            span = len(self._values) + 2
        return np.asarray((lives + 1) * span + place, dtype=np.int64)


class Groups:
    """Distinct keys, ascending, and which of them each key of a column is.

    Attributes:
        of_key: Number of the group of each key that the groups were made of.
        alone: Keys that occur once among these.
    """

    def __init__(self, keys: Int64s) -> None:
        self.of_key = numbered(keys[None])
        self._keys = np.empty(int(self.of_key.max(initial=-1)) + 1, dtype=np.int64)
        self._keys[self.of_key] = keys
        self.alone: Mask = (np.bincount(self.of_key, minlength=len(self)) == 1)[self.of_key]

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, keys: Int64s) -> Int64s:
        """The group of each key of another column, -1 if there is none."""
        number = numbered(np.concatenate((self._keys, keys))[None])
        group = np.full(int(number.max(initial=-1)) + 1, -1, dtype=np.int64)
        group[number[: len(self)]] = np.arange(len(self))
        return group[number[len(self) :]]


def last_with(keys: Int64s, wanted: Int64s) -> Int64s:
    """For each wanted key the last place at which `keys` has it, -1 if nowhere."""
    number = numbered(np.concatenate((keys, wanted))[None])
    last = np.full(int(number.max(initial=-1)) + 1, -1, dtype=np.int64)
    last[number[: len(keys)]] = np.arange(len(keys))  # of places with one number, the last one stays
    return last[number[len(keys) :]]
