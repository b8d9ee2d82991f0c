"""Events of one request row in one step, matched across tables."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.ragged import NULL, Int64s, packed


def keys_of(rows: Int64s, steps: Int64s) -> Int64s:
    """One number for each request row and step, the same for equal ones; -1 of row 0 or without row or step."""
    known = (rows > 0) & (steps != NULL)
    keys = packed(np.where(known, rows, 0), np.where(known, steps, 0))
    if keys is None:
        keys = numbered(np.stack((rows, steps)))
    return np.where(known, keys, -1)


def last_of_step(own: Int64s, wanted: Int64s) -> Int64s:
    """For each wanted key the last place at which `own` has it, -1 if nowhere."""
    if not len(own):
        return np.full(len(wanted), -1, dtype=np.int64)
    order = np.argsort(own, kind="stable")
    at = np.maximum(np.searchsorted(own[order], wanted, side="right") - 1, 0)
    found = order[at]
    return np.where((own[found] == wanted) & (wanted >= 0), found, -1)
