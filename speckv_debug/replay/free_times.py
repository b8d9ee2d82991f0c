"""When a free takes effect: at once, or with the end of its deferred free group."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from itertools import accumulate

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.searching import NEVER


class FreeTimes:
    """The deferred free groups of a process as stretches of `seq`."""

    def __init__(self, process: ProcessRecording) -> None:
        self._process = process

    @cached_property
    def _groups(self) -> list[tuple[int, int | None, int | None]]:
        """Begin, end (None without one) and number of each group, by begin."""
        columns = Columns(self._process.columns("free_group", "action", "group"))
        waiting: list[tuple[int, int | None]] = []
        found: list[tuple[int, int | None, int | None]] = []
        for index in range(len(columns)):
            seq, group = columns.int_at("seq", index) or 0, columns.int_at("group", index)
            if columns.text_at("action", index) == "begin":
                waiting.append((seq, group))
                continue
            at = next((i for i in range(len(waiting) - 1, -1, -1) if group in (None, waiting[i][1])), None)
            if at is not None:
                begin, number = waiting.pop(at)
                found.append((begin, seq, number))
        return sorted([*found, *((begin, None, number) for begin, number in waiting)], key=lambda g: g[0])

    @cached_property
    def _reaches(self) -> list[int]:
        """How far this group and those that begin before it go on, at most."""
        return list(accumulate((NEVER if end is None else end for _, end, _ in self._groups), max))

    def group_of(self, columns: Columns, index: int, seq: int) -> tuple[int, int | None, int | None] | None:
        """The group that a free waits in: the one that it names, else the innermost one that is open."""
        named = columns.int_at("group", index)
        at = bisect_left(self._groups, seq, key=lambda group: group[0]) - 1
        while at >= 0 and self._reaches[at] > seq:
            _, end, number = self._groups[at]
            if (end is None or end > seq) and named in (None, number):
                return self._groups[at]
            at -= 1
        return None
