"""From finding to finding, in the order of the recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from speckv_debug.viewers.tui.outline import Entry


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """A point of the recording: the process's place among all, and the event."""

    process: int
    seq: int


def next_finding(
    entries: Sequence[Entry], labels: Sequence[str], here: Moment, visited: Entry | None, by: int
) -> Entry | None:
    """The finding after (`by` 1) or before (`by` -1) the visited one, else after or before `here`.

    Args:
        entries: In any order.
        labels: Of all processes, in the order of the recording.
        here: What one looks at.
        visited: The finding that led here, None if one came here otherwise.
        by: 1 or -1.
    """
    moments = [Moment(labels.index(entry.finding.process), entry.finding.first_seq) for entry in entries]
    order = sorted(range(len(entries)), key=moments.__getitem__)
    if visited in entries:
        to = order.index(entries.index(visited)) + by
    else:
        passed = sum(moments[i] < here or (by > 0 and moments[i] == here) for i in order)
        to = passed if by > 0 else passed - 1
    return entries[order[to]] if 0 <= to < len(order) else None
