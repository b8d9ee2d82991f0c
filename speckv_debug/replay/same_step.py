"""Events of one request row in one step, matched across tables."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.ragged import NULL, Int64s


def keys_of(rows: Int64s, steps: Int64s) -> Int64s:
    """A number from 0 on for each request row and step, the same for equal ones; -1 of row 0 or without row or step."""
    known = (rows > 0) & (steps != NULL)
    keys = numbered(np.stack((np.where(known, rows, 0), np.where(known, steps, NULL))))
    return np.where(known, keys, -1)


def last_of_step(own: Int64s, wanted: Int64s) -> Int64s:
    """For each wanted key the last place at which `own` has it, -1 if nowhere; both are of `keys_of`."""
    last = np.full(max(own.max(initial=-1), wanted.max(initial=-1)) + 2, -1, dtype=np.int64)
    known = np.flatnonzero(own >= 0)
    last[own[known]] = known  # of places with one key, the last one stays
    return last[wanted]  # -1, no key, is the last entry
