"""Columns of lists as two NumPy arrays: the values in one row after another, and where each row starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from speckv_debug.replay.worthwhile import worth_compiling

Int64s = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)

NULL = int(np.iinfo(np.int64).min)
"""What stands for an absent value in an integer column; no slot, position, token or length is that small."""


def mask(condition: Any) -> Mask:
    """A condition over whole columns as bool[n]."""
    return np.asarray(condition, dtype=np.bool_)


KEPT = 1 << 19
"""Lists and values up to which what follows from them is kept."""


@dataclass(frozen=True, slots=True)
class Ragged:
    """`values[offsets[i]:offsets[i+1]]` is list i; `present[i]` tells an empty list from an absent one.

    Shapes: values int64[sum of lengths], offsets int64[n + 1], present bool[n].
    """

    values: Int64s
    offsets: Int64s
    present: Mask
    _derived: dict[str, Int64s] = field(default_factory=dict, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.present)

    def __getitem__(self, index: int) -> Int64s:
        """List `index`, empty if absent."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> Int64s:
        """Length of each list, 0 where absent."""
        return self._once("lengths", lambda: np.diff(self.offsets))

    @property
    def filled(self) -> Mask:
        """Lists that are present and have no value missing."""
        if self.values.min(initial=0) > NULL:
            return self.present
        return self.present & ~any_per_list(mask(self.values == NULL), self.owners, len(self))

    @property
    def owners(self) -> Int64s:
        """Which list each value belongs to."""
        return self._once("owners", lambda: np.repeat(np.arange(len(self), dtype=np.int64), self.lengths))

    @property
    def within(self) -> Int64s:
        """Place of each value in its list."""
        return self._once(
            "within", lambda: np.arange(len(self.values)) - np.repeat(self.offsets[:-1], self.lengths)
        )

    def at(self, lists: Int64s, places: Int64s) -> Int64s:
        """Value `places[j]` of list `lists[j]`, NULL where that is outside the list."""
        if worth_compiling(len(lists)):
            from speckv_debug.replay.gathering import values_at

            return values_at(*(frozen(part) for part in (self.values, self.offsets, lists, places)))
        inside = (places >= 0) & (places < self.lengths[lists])
        found = np.full(len(lists), NULL, dtype=np.int64)
        found[inside] = self.values[self.offsets[lists[inside]] + places[inside]]
        return found

    def take(self, lists: Int64s) -> Ragged:
        """The lists named by `lists`, in that order."""
        if len(lists) == len(self) and bool((lists == np.arange(len(self))).all()):
            return self
        lengths = self.lengths[lists]
        flat = np.repeat(self.offsets[lists], lengths) + spread(lengths)
        return Ragged(self.values[flat], starts(lengths), self.present[lists])

    def padded(self, lists: Int64s, width: int, fill: int = NULL) -> Int64s:
        """The first `width` values of the lists named by `lists`, `[len(lists), width]`; `fill` behind their ends."""
        places = np.tile(np.arange(width, dtype=np.int64), len(lists))
        found = self.at(np.repeat(lists, width), places).reshape(len(lists), width)
        inside = np.arange(width) < self.lengths[lists][:, None]
        return np.where(inside, found, fill)

    def matrix(self, lists: Int64s, width: int) -> Int64s:
        """The lists named by `lists`, ascending and all that long, as int64[len(lists), width]; no copy if in one row."""
        first, last = int(lists[0]), int(lists[-1]) + 1
        if last - first == len(lists):
            return self.values[self.offsets[first] : self.offsets[last]].reshape(-1, width)
        return self.table(lists, width)

    def table(self, lists: Int64s, width: int) -> Int64s:
        """The lists named by `lists`, in any order and all that long, as int64[len(lists), width]."""
        gathered: Int64s = self.values[self.offsets[lists][:, None] + np.arange(width)]
        return gathered

    def _once(self, name: str, make: Callable[[], Int64s]) -> Int64s:
        """What follows from the offsets; kept where it is small, since many ask for it one after another."""
        if len(self.values) + len(self) > KEPT:
            return make()
        if name not in self._derived:
            self._derived[name] = frozen(make())
        return self._derived[name]

    def tuple(self, index: int) -> tuple[int, ...] | None:
        """List `index` as plain integers, None if absent."""
        return tuple(int(v) for v in self[index]) if self.present[index] else None


def starts(lengths: Int64s) -> Int64s:
    """Offsets int64[n + 1] of lists of these lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def spread(lengths: Int64s) -> Int64s:
    """`0 .. lengths[i]-1` for each i, one after another."""
    return np.arange(int(lengths.sum()), dtype=np.int64) - np.repeat(starts(lengths)[:-1], lengths)


def expanded(lengths: Int64s) -> tuple[Int64s, Int64s]:
    """For each of `lengths[i]` things of i, one after another: i, and its place among those of i."""
    return np.repeat(np.arange(len(lengths), dtype=np.int64), lengths), spread(lengths)


def joined(first: Ragged, second: Ragged) -> Ragged:
    """The lists of `first`, then those of `second`."""
    if not len(first) or not len(second):
        return second if len(second) else first
    return Ragged(
        np.concatenate((first.values, second.values)),
        np.concatenate((first.offsets, second.offsets[1:] + first.offsets[-1])),
        np.concatenate((first.present, second.present)),
    )


def any_per_list(hit: Mask, owners: Int64s, count: int) -> Mask:
    """For each of `count` lists whether any of its values is hit."""
    found = np.zeros(count, dtype=np.bool_)
    found[owners[hit]] = True
    return found


def all_distinct(group: Int64s, value: Int64s) -> bool:
    """Whether no two entries share group and value; False where the two don't fit into one number."""
    keys = packed(group, value)
    return keys is not None and not bool((np.diff(np.sort(keys)) == 0).any())


def packed(group: Int64s, value: Int64s) -> Int64s | None:
    """Each pair as one number, which no other pair has; None where that takes more than 62 bits.

    Values that differ by more than 2^32 do; groups are 0 or more.
    """
    if not len(value):
        return value
    low, high = int(value.min()), int(value.max())
    if high - low >= 1 << 32 or int(group.max()) >= 1 << 30:
        return None
    return np.asarray((group << 32) + (value - low), dtype=np.int64)


def frozen(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """A view that can't be written: one type for the compiled code, whether Arrow owns the values or not."""
    view = values.view()
    view.flags.writeable = False
    return view
