"""Where a long recording may be cut: behind events whose steps are over, and before those of steps to come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from speckv_debug.recording.arrays import filled, flags
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.ragged import NULL, Int64s, Mask

STEPPED = ("accept", "move", "compact")
"""Tables whose events all say their step where a recording is judged in windows."""
OF_STEPS = (*STEPPED, "forward", "state_clear")
"""Tables whose events of one step are looked at together."""
OF_PREPARATIONS = ("reserve", "alloc", "lengths")
"""The same of the preparation of a step, which may lie within the step before; of `lengths` those of `PREPARE`."""
PREPARE = "spec_prepare"
HELD = 1 << 16
"""Steps of stretches that are held, one behind another, before they are brought together."""
DENSE = 4
"""Steps a row up to which steps are counted without sorting."""


class Spans:
    """First and last `seq` of each step, added up stretch by stretch."""

    def __init__(self) -> None:
        self.unknown = False
        self._grants: list[Int64s] = []
        self._behind: Counter[tuple[str, ...]] = Counter()
        self._parts: dict[tuple[str, ...], list[tuple[Int64s, Int64s, Int64s]]] = {}

    def look(self, stretch: Mapping[str, pa.Table]) -> None:
        """Add the events of a stretch; those of one table are ascending."""
        for family in (OF_STEPS, OF_PREPARATIONS):
            for name in family:
                if name in stretch:
                    table = stretch[name]
                    if name == "alloc":
                        self._grants.append(_ints(table, "seq"))
                    seq, step = (_ints(table, column) for column in ("seq", "step"))
                    known = step != NULL
                    if name == "lengths":
                        known &= flags(pc.equal(table.column("cause"), PREPARE))
                    if not known.all():
                        self.unknown |= name in STEPPED
                        seq, step = seq[known], step[known]
                    if len(seq):
                        self._add(family, _spans(seq, step))

    def _add(self, family: tuple[str, ...], spans: tuple[Int64s, Int64s, Int64s]) -> None:
        parts = self._parts.setdefault(family, [])
        parts.append(spans)
        self._behind[family] += len(spans[0]) if len(parts) > 1 else 0
        if self._behind[family] > HELD + len(parts[0][0]):
            parts[:], self._behind[family] = [_merged(parts)], 0

    def closed(self) -> Int64s:
        """`seq` of the last event of a step, where no step that has begun goes on behind it; ascending."""
        spans = [_merged(parts) for parts in self._parts.values()]
        if not spans:
            return np.empty(0, dtype=np.int64)
        _, first, last = (np.concatenate(column) for column in zip(*spans, strict=True))
        order = np.argsort(first, kind="stable")
        first, reach = first[order], np.maximum.accumulate(last[order])
        return reach[:-1][reach[:-1] < first[1:]]

    def granting(self, ends: Int64s) -> Mask:
        """Which of these `seq` are of grants: those enter their row only behind them."""
        grants = np.concatenate([np.empty(0, dtype=np.int64), *self._grants])
        found = np.searchsorted(grants, ends)
        return np.asarray(np.append(grants, NULL)[found] == ends, dtype=np.bool_)


def closed_ends(process: ProcessRecording, events: int) -> list[int] | None:
    """Some `seq` behind which no step goes on that has begun before, the last event's among them.

    None if steps can't be told apart, or events are missing between others.

    Args:
        process: It is read once, three columns alone.
        events: How far the ends are apart, at least.
    """
    spans = Spans()
    survey = process.survey(["step", "cause"], spans.look)
    last = process.last_seq
    if last is None or spans.unknown or not survey.dense:
        return None
    closed = spans.closed()
    begin = min(extent.first for extent in survey.extents.values())
    return chosen(closed, spans.granting(closed), begin, last, events)


def chosen(closed: Int64s, granting: Mask, first: int, last: int, events: int) -> list[int]:
    """Of these ends those that are so far apart, and the last event; right behind a grant only if no other is near."""
    quiet, ends, before = np.append(closed[~granting], last), list[int](), first
    while (end := _next(quiet, closed, before, events)) < last:
        ends.append(end)
        before = end
    return [*ends, last]


def _next(quiet: Int64s, closed: Int64s, before: int, events: int) -> int:
    """The nearest of the quiet ends that is far enough behind the one before, or an end of either kind twice as far."""
    near, far = (np.searchsorted(ends, before + n * events) for n, ends in ((1, quiet), (2, closed)))
    found = [int(ends[at]) for at, ends in ((near, quiet), (far, closed)) if at < len(ends)]
    return min(found, default=int(quiet[-1]))


def _spans(seq: Int64s, step: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Steps of ascending events, each with the first and the last `seq`."""
    if (step[1:] >= step[:-1]).all():
        ends = np.flatnonzero(np.append(step[1:] != step[:-1], True))
        begins = np.append(0, ends[:-1] + 1)
        return step[begins], seq[begins], seq[ends]
    low, high = int(step.min()), int(step.max())
    if high - low >= DENSE * len(step):
        steps, place = np.unique(step, return_inverse=True)
        place = place.reshape(-1)
    else:
        steps, place = np.arange(low, high + 1), step - low
    first, last, met = (np.zeros(len(steps), dtype=kind) for kind in (np.int64, np.int64, np.bool_))
    first[place[::-1]], last[place], met[place] = seq[::-1], seq, True
    return steps[met], first[met], last[met]


def _merged(parts: list[tuple[Int64s, Int64s, Int64s]]) -> tuple[Int64s, Int64s, Int64s]:
    """Each step with its first and last `seq` over all parts."""
    step, first, last = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(step, kind="stable")
    begin = np.flatnonzero(np.diff(step[order], prepend=NULL) != 0)
    firsts, lasts = np.minimum.reduceat(first[order], begin), np.maximum.reduceat(last[order], begin)
    return step[order][begin], firsts, lasts


def _ints(table: pa.Table, column: str) -> Int64s:
    return np.asarray(filled(table.column(column), NULL), dtype=np.int64)
