"""The latest event of a life, by one pass over events and questions in the order of `seq`."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.compiling import Array, compiled


@compiled
def latest_before(own: Array, seqs: Array, lives: Array, seq: Array, count: int) -> Array:
    """For each (lives, seq) the last place in (own, seqs) of that life with a smaller seq, -1 if none; both ascending.

    Args:
        own, seqs: int64[events], life (0 or more) and `seq` of each event.
        lives, seq: int64[questions], life (-1 is nobody's) and `seq`.
        count: Number of lives.
    """
    last = np.full(count, -1, dtype=np.int64)
    found = np.full(len(seq), -1, dtype=np.int64)
    at = 0
    for question in range(len(seq)):
        while at < len(seqs) and seqs[at] < seq[question]:
            last[own[at]] = at
            at += 1
        if lives[question] >= 0:
            found[question] = last[lives[question]]
    return found
