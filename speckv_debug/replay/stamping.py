"""Slots that are named twice by one forward, or read too late by one call, with a stamp for each slot instead of sorting."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.compiling import Array, compiled


@compiled
def all_stamped_once(
    values: Array, offsets: Array, forward: Array, dummy: Array, order: Array, bound: int
) -> bool:
    """Whether no forward names a slot twice that is not its dummy's.

    Args:
        values, offsets: int64, the slots of each row, 0 or more and below `bound`.
        forward, dummy: int64[rows], the row's forward, and the first slot that is not the dummy's.
        order: int64[rows], the rows by forward.
    """
    stamp = np.full(bound, -1, dtype=np.int64)
    for at in range(len(order)):
        row = order[at]
        for place in range(offsets[row], offsets[row + 1]):
            slot = values[place]
            if slot >= dummy[row]:
                if stamp[slot] == forward[row]:
                    return False
                stamp[slot] = forward[row]
    return True


@compiled
def all_in_order(values: Array, offsets: Array, step: Array, dummy: Array, bound: int) -> bool:
    """Whether steps rise from row to row, and no step names a slot twice that is not its dummy's.

    Args:
        values, offsets, dummy, bound: As of `all_stamped_once`.
        step: int64[rows], all 0 or more.
    """
    stamp, latest = np.full(bound, -1, dtype=np.int64), 0
    for row in range(len(step)):
        if step[row] < latest:
            return False
        latest = step[row]
        for place in range(offsets[row], offsets[row + 1]):
            slot = values[place]
            if slot >= dummy[row]:
                if stamp[slot] == latest:
                    return False
                stamp[slot] = latest
    return True


@compiled
def all_read_in_time(src: Array, sources: Array, tgt: Array, targets: Array, bound: int) -> bool:
    """Whether no pair of a mover call reads a slot that an earlier pair of it has overwritten.

    A pair of one slot with itself, or into slot 0, overwrites nothing.

    Args:
        src, sources, tgt, targets: int64, slots of all calls, 0 or more and below `bound`, and where each call begins.
    """
    stamp = np.full(bound, -1, dtype=np.int64)
    for call in range(len(sources) - 1):
        reach = targets[call + 1] - targets[call]
        for place in range(sources[call + 1] - sources[call]):
            source = src[sources[call] + place]
            if stamp[source] == call:
                return False
            if place < reach:
                target = tgt[targets[call] + place]
                if target != source and target > 0:
                    stamp[target] = call
    return True
