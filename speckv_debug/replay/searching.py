"""The event before or behind a given one that is about the same thing, for whole columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.ragged import Int64s, Mask, frozen
from speckv_debug.replay.worthwhile import worth_compiling

NEVER = int(np.iinfo(np.int64).max)
"""The `seq` of what does not come."""
Keys = tuple[Int64s, ...]
Pairs = tuple[Int64s, Int64s]
"""A small number, such as that of a life, and a `seq` for each event or question."""


def latest_with(keys: Keys, seq: Int64s, asked: Keys, before: Int64s) -> Int64s:
    """Number of the last event with the same keys and a `seq` before the asked one, -1 if there is none.

    Args:
        keys, seq: Columns int64[events].
        asked, before: Columns int64[questions].
    """
    own, theirs, count = _both_numbered(keys, asked)
    return latest_of((own, seq), (theirs, before), count)


def first_with(keys: Keys, seq: Int64s, asked: Keys, behind: Int64s) -> Int64s:
    """Number of the first event with the same keys and a `seq` behind the asked one, -1 if there is none."""
    own, theirs, count = _both_numbered(keys, asked)
    return first_of((own, seq), (theirs, behind), count)


def latest_of(events: Pairs, questions: Pairs, count: int, which: Mask | None = None) -> Int64s:
    """For each question the last event (where `which`) of the same number before its `seq`, -1 if there is none.

    Args:
        events, questions: Numbers from 0 to `count`, -1 for what is like nothing else, and `seq`.
    """
    chosen = np.flatnonzero((events[0] >= 0) & (True if which is None else which))
    own = (events[0][chosen], events[1][chosen])
    if worth_compiling(len(own[0]) + len(questions[0])):
        from speckv_debug.replay.latest import latest_before

        found = _swept(latest_before, own, questions, count)
    else:
        found = _searched(own, questions, -1)
    return np.append(chosen, -1)[found]


def first_of(events: Pairs, questions: Pairs, count: int) -> Int64s:
    """For each question the first event of the same number behind its `seq`, -1 if there is none."""
    if worth_compiling(len(events[0]) + len(questions[0])):
        from speckv_debug.replay.latest import first_behind

        return _swept(first_behind, events, questions, count)
    behind = np.minimum(questions[1], NEVER - 1) + 1
    return _searched(events, (questions[0], behind), 0)


def beside_others(seq: Int64s, group: Int64s, asked: Int64s, own: Int64s) -> tuple[Int64s, Int64s]:
    """The nearest `seq` of events of other groups before each asked one, -1 without any, and from it on, else NEVER.

    Args:
        seq, group: Columns int64[events], such as the steps of events.
        asked, own: Columns int64[questions], the `seq` and the group of each.
    """
    order, count = np.argsort(seq, kind="stable"), len(seq)
    seq, group = seq[order], group[order]
    starts = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    at, groups = np.searchsorted(seq, asked), np.append(group, 0)
    begun = starts[np.searchsorted(starts, at - 1, side="right") - 1]
    over = np.append(starts, count)[np.searchsorted(starts, at, side="right")]
    before = np.where((at > 0) & (groups[at - 1] == own), begun, at) - 1
    behind = np.where((at < count) & (groups[at] == own), over, at)
    return np.append(seq, -1)[before], np.append(seq, NEVER)[behind]


def search_pairs(own: Int64s, seqs: Int64s, lives: Int64s, seq: Int64s) -> Int64s:
    """How many of the sorted (own, seqs) lie before each (lives, seq); `own` and `lives` are small numbers, 0 or more."""
    low, high = np.searchsorted(own, lives), np.searchsorted(own, lives, side="right")
    ranks, query = _ranked(seqs, seq)
    keys = own * (len(ranks) + len(query) + 1) + ranks
    return np.clip(np.searchsorted(keys, lives * (len(ranks) + len(query) + 1) + query), low, high)


def _both_numbered(keys: Keys, asked: Keys) -> tuple[Int64s, Int64s, int]:
    """One number for each distinct key of either, and how many there are."""
    number = numbered(np.hstack((np.stack(keys), np.stack(asked))))
    own = len(keys[0])
    return number[:own], number[own:], int(number.max(initial=-1)) + 1


def _swept(sweep: Callable[..., Int64s], events: Pairs, questions: Pairs, count: int) -> Int64s:
    """What compiled code finds, which wants both in the order of `seq`."""
    (own, seqs), (asked, bound) = events, questions
    order, turn = _order(seqs), _order(bound)
    if order is not None:
        own, seqs = own[order], seqs[order]
    if turn is not None:
        asked, bound = asked[turn], bound[turn]
    found = sweep(frozen(own), frozen(seqs), frozen(asked), frozen(bound), count)
    found = found if order is None else np.append(order, -1)[found]
    if turn is None:
        return found
    placed = np.empty_like(found)
    placed[turn] = found
    return placed


def _order(seq: Int64s) -> Int64s | None:
    """What sorts them, None where they are sorted."""
    return None if (seq[1:] >= seq[:-1]).all() else np.argsort(seq, kind="stable")


def _searched(events: Pairs, questions: Pairs, step: int) -> Int64s:
    """The event at which, or before which, each question would stand."""
    (own, seqs), (asked, bound) = events, questions
    if not len(own) or not len(asked):
        return np.full(len(asked), -1, dtype=np.int64)
    order = np.lexsort((seqs, own))
    place = search_pairs(own[order], seqs[order], asked, bound) + step
    inside = (place >= 0) & (place < len(order)) & (asked >= 0)
    place = np.where(inside, place, 0)
    return np.where(inside & (own[order][place] == asked), order[place], -1)


def _ranked(seqs: Int64s, seq: Int64s) -> tuple[Int64s, Int64s]:
    """Both as ranks, so that they fit into a key beside the life."""
    values = np.sort(np.concatenate((seqs, seq)))
    return np.searchsorted(values, seqs), np.searchsorted(values, seq)
