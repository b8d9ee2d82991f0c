"""When a free takes effect: at once, or with the end of its deferred free group; as the ledger folds it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import cached_property
from itertools import accumulate

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s
from speckv_debug.replay.searching import NEVER

Group = tuple[int, int | None, int | None]
"""Begin, end (None without one) and number."""


class FreeTimes:
    """The deferred free groups of a process as stretches of `seq`.

    A free waits in the group that it names, else in the innermost one that is open, as in `ledger_groups`. One that names a
    group which is not open waits for an end of that name that closes no other; where no groups were recorded, for nothing.
    """

    def __init__(self, groups: Callable[[], Columns]) -> None:
        self._columns = groups

    def effects(self, free: Columns) -> Int64s:
        """`seq` at which each free takes effect, NEVER if its group has no end; int64[frees]."""
        seq, named = free.ints("seq"), free.ints("group")
        found = seq.copy()
        begins = np.array([begin for begin, _, _ in self._groups], dtype=np.int64)
        reach = np.append(np.array(self._reaches, dtype=np.int64), NULL)
        waiting = (reach[np.searchsorted(begins, seq) - 1] > seq) | ((named != NULL) & self._recorded)
        for index in np.flatnonzero(waiting).tolist():
            if (group := self.group_of(free, index, int(seq[index]))) is not None:
                found[index] = NEVER if group[1] is None else group[1]
        return found

    def group_of(self, columns: Columns, index: int, seq: int) -> Group | None:
        """The group that a free waits in, None if it takes effect at once."""
        named = columns.int_at("group", index)
        at = bisect_left(self._groups, seq, key=lambda group: group[0]) - 1
        while at >= 0 and self._reaches[at] > seq:
            _, end, number = self._groups[at]
            if (end is None or end > seq) and named in (None, number):
                return self._groups[at]
            at -= 1
        if named is None or not self._recorded:
            return None
        return seq, next((end for end, group in self._strays if end > seq and group == named), None), named

    @property
    def _recorded(self) -> bool:
        return len(self._all[0]) + len(self._all[1]) > 0

    @property
    def _groups(self) -> list[Group]:
        """By begin."""
        return self._all[0]

    @property
    def _strays(self) -> list[tuple[int, int | None]]:
        """`seq` and number of ends that close no group."""
        return self._all[1]

    @cached_property
    def _all(self) -> tuple[list[Group], list[tuple[int, int | None]]]:
        columns, waiting = self._columns(), list[tuple[int, int | None]]()
        found, strays = list[Group](), list[tuple[int, int | None]]()
        for index in range(len(columns)):
            seq, group = columns.int_at("seq", index) or 0, columns.int_at("group", index)
            if columns.text_at("action", index) == "begin":
                waiting.append((seq, group))
                continue
            at = next((i for i in range(len(waiting) - 1, -1, -1) if group in (None, waiting[i][1])), None)
            if at is None:
                strays.append((seq, group))
                continue
            begin, number = waiting.pop(at)
            found.append((begin, seq, number))
        found += [(begin, None, number) for begin, number in waiting]
        return sorted(found, key=lambda group: group[0]), strays

    @cached_property
    def _reaches(self) -> list[int]:
        """How far this group and those that begin before it go on, at most."""
        return list(accumulate((NEVER if end is None else end for _, end, _ in self._groups), max))
