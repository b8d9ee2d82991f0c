"""The event before or behind a given one that is about the same thing, for whole columns."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.lives import NEVER, search_pairs
from speckv_debug.replay.ragged import Int64s
from speckv_debug.replay.writes import numbered

Keys = tuple[Int64s, ...]


def latest_with(keys: Keys, seq: Int64s, asked: Keys, before: Int64s) -> Int64s:
    """Number of the last event with the same keys and a `seq` before the asked one, -1 if there is none.

    Args:
        keys, seq: Columns int64[events].
        asked, before: Columns int64[questions].
    """
    return _found(keys, seq, asked, before, -1)


def first_with(keys: Keys, seq: Int64s, asked: Keys, behind: Int64s) -> Int64s:
    """Number of the first event with the same keys and a `seq` behind the asked one, -1 if there is none."""
    return _found(keys, seq, asked, np.minimum(behind, NEVER - 1) + 1, 0)


def _found(keys: Keys, seq: Int64s, asked: Keys, bound: Int64s, step: int) -> Int64s:
    if not len(seq) or not len(bound):
        return np.full(len(bound), -1, dtype=np.int64)
    number = numbered(np.hstack((np.stack(keys), np.stack(asked))))
    own, theirs = number[: len(seq)], number[len(seq) :]
    order = np.lexsort((seq, own))
    place = search_pairs(own[order], seq[order], theirs, bound) + step
    inside = (place >= 0) & (place < len(order))
    place = np.where(inside, place, 0)
    return np.where(inside & (own[order][place] == theirs), order[place], -1)
