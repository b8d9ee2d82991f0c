"""Values in one pass: of lists by list and place, or beside bounds of their list; codes that occur."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.compiling import Array, compiled

NULL = int(np.iinfo(np.int64).min)


@compiled
def values_at(values: Array, offsets: Array, lists: Array, places: Array) -> Array:
    """Value `places[j]` of list `lists[j]`, NULL where that is outside the list; see `Ragged.at`."""
    found = np.empty(len(lists), dtype=np.int64)
    for j in range(len(lists)):
        start, place = offsets[lists[j]], places[j]
        found[j] = values[start + place] if 0 <= place < offsets[lists[j] + 1] - start else NULL
    return found


@compiled
def any_outside(values: Array, offsets: Array, count: Array, low: Array, high: Array) -> Array:
    """For each list whether one of its first `count` values is not in `[low, high)`; bool[lists], all int64."""
    found = np.zeros(len(count), dtype=np.bool_)
    for at in range(len(count)):
        for place in range(offsets[at], min(offsets[at] + count[at], offsets[at + 1])):
            found[at] |= values[place] < low[at] or values[place] >= high[at]
    return found


@compiled
def occurring(codes: Array, count: int) -> Array:
    """Which of the codes `[0, count)` occur, in the order in which they first do; -1 is none. Codes are int32."""
    found, met, used = np.zeros(count, dtype=np.bool_), np.empty(count, dtype=np.int64), 0
    for at in range(len(codes)):
        code = codes[at]
        if code >= 0 and not found[code]:
            found[code], met[used] = True, code
            used += 1
    return met[:used]
