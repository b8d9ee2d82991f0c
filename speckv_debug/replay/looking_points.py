"""After which events to look at a ledger that is drawn over time: the ends of steps, of a long recording some of them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from speckv_debug.replay.ledger_events import TABLES
from speckv_debug.replay.ragged import NULL, Int64s, Mask
from speckv_debug.replay.timeline import Timeline


@dataclass(frozen=True, slots=True)
class LookingPoints:
    """n spans of steps, and the points in them.

    Attributes:
        axis: What x counts: `step`, or `seq` where no event names a step.
        seq: int64[points], the event after which to look, ascending.
        of: int64[points], the span of each.
        x: int64[n], first step of each span that has an event.
        span: Steps of a span; 1: each step is a point.
    """

    axis: str
    seq: Int64s
    of: Int64s
    x: Int64s
    span: int


def looking_points(timeline: Timeline, spans: int, named: Collection[int] = ()) -> LookingPoints:
    """The end of each step, or of at most so many spans of equal length, with where each has the most and fewest pages out.

    `named`: steps whose ends are points in any case.
    """
    order, steps = timeline.order, newest_steps(timeline)
    axis = "step" if len(steps) and steps[-1] != NULL else "seq"
    at = steps if axis == "step" else order.seq
    ends = np.flatnonzero(np.append(at[1:] != at[:-1], np.full(min(1, len(at)), True)))
    ends = ends[at[ends] != NULL]
    if not len(ends):
        return LookingPoints(axis, ends, ends, ends, 1)
    span = 1 if len(ends) <= spans else int(-(-(at[ends[-1]] - at[ends[0]] + 1) // spans))
    number = (at[ends] - at[ends[0]]) // span
    firsts = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
    asked = np.isin(at[ends], list(named)) if axis == "step" else np.zeros(len(ends), dtype=np.bool_)
    kept = np.arange(len(ends)) if span == 1 else _where_to_look(pages_out(timeline)[ends], firsts, asked)
    of = np.searchsorted(number[firsts], number[kept])
    return LookingPoints(axis, order.seq[ends[kept]], of, number[firsts] * span + at[ends[0]], span)


def newest_steps(timeline: Timeline) -> Int64s:
    """int64[events], the newest step that was named up to each event of `timeline.order`, NULL before the first."""
    found = _of_events(timeline, lambda table: timeline.events.table(table).columns.ints("step"))
    return np.maximum.accumulate(found) if len(found) else found  # NULL is the lowest number


def pages_out(timeline: Timeline) -> Int64s:
    """int64[events], pages of the main pool that were granted less those that were freed, up to each event.

    It says where to look and no more: what is freed twice or waits in a group is counted as it comes. A grant counts the
    pages whose first slot it names, since one that goes on inside a page takes none from the free list.
    """
    events = timeline.events
    main, size = events.namespaces.main, events.namespaces.all[events.namespaces.main].page_size

    def moved(table: str) -> Int64s:
        if table not in ("alloc", "free"):
            return np.zeros(len(events.table(table)), dtype=np.int64)
        rows = events.slots[table]
        if table == "free":
            pages = -rows.lists.runs.lengths
        else:
            begun = rows.listed.owners[rows.listed.values % size == 0]
            pages = np.bincount(begun, minlength=len(rows)).astype(np.int64)
        return np.where(rows.namespace == main, pages, 0)

    return np.cumsum(_of_events(timeline, moved))


def _of_events(timeline: Timeline, values: Callable[[str], Int64s]) -> Int64s:
    """A value of each event, in order; `values` has those of a table."""
    order = timeline.order
    found = np.empty(len(order.seq), dtype=np.int64)
    for number, name in enumerate(TABLES):
        at = np.flatnonzero(order.table == number)
        if len(at):
            found[at] = values(name)[order.row[at]]
    return found


def _where_to_look(out: Int64s, firsts: Int64s, asked: Mask) -> Int64s:
    """Of each span its last step, those with the fewest and the most pages out, and those that were asked for."""
    behind = [*firsts[1:].tolist(), len(out)]
    found = {end - 1 for end in behind} | set(np.flatnonzero(asked).tolist())
    for first, end in zip(firsts.tolist(), behind, strict=True):
        found |= {first + int(out[first:end].argmin()), first + int(out[first:end].argmax())}
    return np.array(sorted(found), dtype=np.int64)
