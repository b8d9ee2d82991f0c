"""Whether any slot is named twice by one forward, with a stamp for each slot instead of sorting."""

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
