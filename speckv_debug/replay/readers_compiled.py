"""Which verify each forward is of, and who reads a request row next, in one pass over events whose steps rise."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.compiling import Array, compiled

NULL = int(np.iinfo(np.int64).min)
END = int(np.iinfo(np.int64).max)
MOST_ROWS = 1 << 16
"""Request rows that have a place in a table; where one lies beyond, events are sorted instead."""
SEQ, STEP, ROW, EPOCH = range(4)


@compiled
def verifies_of(step: Array, row: Array, steps: Array, rows: Array) -> Array:
    """For each forward the last verify of its step and request row, -1 if there is none; as long as 0 if steps fall.

    Args:
        step, row: int64[verifies]; `steps` and `rows` are those of the forwards.
    """
    found, nothing = np.full(len(steps), -1, dtype=np.int64), np.empty(0, dtype=np.int64)
    stamp, which = np.full(MOST_ROWS, NULL, dtype=np.int64), np.empty(MOST_ROWS, dtype=np.int64)
    at, now, latest = 0, NULL, NULL
    for verify in range(len(step)):
        if step[verify] != NULL:
            if step[verify] < latest:
                return nothing
            latest = step[verify]
    for forward in range(len(steps)):
        if steps[forward] == NULL:
            continue
        if steps[forward] < now or rows[forward] >= MOST_ROWS:
            return nothing
        now = steps[forward]
        while at < len(step) and step[at] <= now:
            if step[at] != NULL and row[at] > 0:
                if row[at] >= MOST_ROWS:
                    return nothing
                stamp[row[at]], which[row[at]] = step[at], at
            at += 1
        if rows[forward] > 0 and stamp[rows[forward]] == now:
            found[forward] = which[rows[forward]]
    return found


@compiled
def own_times(verified: Array, forwards: Array, checking: Array) -> Array:
    """When each verify reads: at its own forward, one behind another; as long as 0 if they don't match one by one.

    Args:
        verified: int64[4, verifies], `SEQ` to `EPOCH`; `forwards` the same of forwards of the target.
        checking: bool[forwards], those of verifies.
    """
    count, nothing = verified.shape[1], np.empty(0, dtype=np.int64)
    found, latest, at = np.empty(count, dtype=np.int64), np.full(MOST_ROWS, NULL, dtype=np.int64), 0
    for forward in range(forwards.shape[1]):
        if checking[forward]:
            if at == count:
                return nothing
            step, row, epoch = forwards[STEP, forward], forwards[ROW, forward], forwards[EPOCH, forward]
            same = step == verified[STEP, at] and row == verified[ROW, at] and epoch == verified[EPOCH, at]
            if not same or row < 0 or row >= MOST_ROWS or epoch == NULL or step <= latest[row]:
                return nothing
            latest[row], found[at] = step, min(forwards[SEQ, forward], verified[SEQ, at])
            if at and found[at] <= found[at - 1]:
                return nothing
            at += 1
    return found if at == count else nothing


@compiled
def next_reads(verified: Array, times: Array, forwards: Array, checking: Array) -> Array:
    """When the next one reads the row of each verify in the same life, END if nobody does; as long as 0 if lives are mixed.

    Args:
        times: int64[verifies], of `own_times`; the others are as there.
    """
    nothing, found = np.empty(0, dtype=np.int64), np.empty(len(times), dtype=np.int64)
    life, reads = np.full(MOST_ROWS, NULL, dtype=np.int64), np.full(MOST_ROWS, END, dtype=np.int64)
    forward = forwards.shape[1] - 1
    for at in range(len(times) - 1, -1, -1):
        while forward >= 0 and forwards[SEQ, forward] > times[at]:
            row, epoch = forwards[ROW, forward], forwards[EPOCH, forward]
            if not checking[forward] and row != NULL and epoch != NULL:
                if row < 0 or row >= MOST_ROWS or (life[row] != NULL and epoch > life[row]):
                    return nothing
                life[row], reads[row] = epoch, forwards[SEQ, forward]
            forward -= 1
        row, epoch = verified[ROW, at], verified[EPOCH, at]
        if life[row] != NULL and epoch > life[row]:
            return nothing
        found[at] = reads[row] if life[row] == epoch else END
        life[row], reads[row] = epoch, times[at]
    return found
