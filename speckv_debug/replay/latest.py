"""The nearest event of a life, by one pass over events and questions in the order of `seq`."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.compiling import Array, compiled


@compiled
def latest_before(own: Array, seqs: Array, lives: Array, seq: Array, count: int) -> Array:
    """For each (lives, seq) the last place in (own, seqs) of that life with a smaller seq, -1 if none.

    Args:
        own, seqs: int64[events], life (-1 is nobody's) and `seq` of each event, `seqs` ascending.
        lives, seq: int64[questions], life (-1 is nobody's) and `seq`, which is ascending.
        count: Number of lives.
    """
    last = np.full(count, -1, dtype=np.int64)
    found = np.full(len(seq), -1, dtype=np.int64)
    at = 0
    for question in range(len(seq)):
        while at < len(seqs) and seqs[at] < seq[question]:
            if own[at] >= 0:
                last[own[at]] = at
            at += 1
        if lives[question] >= 0:
            found[question] = last[lives[question]]
    return found


@compiled
def first_behind(own: Array, seqs: Array, lives: Array, seq: Array, count: int) -> Array:
    """For each (lives, seq) the first place in (own, seqs) of that life with a larger seq, -1 if none.

    Args:
        own, seqs: int64[events], life (-1 is nobody's) and `seq` of each event, `seqs` ascending.
        lives, seq: int64[questions], life (-1 is nobody's) and `seq`, which is ascending.
        count: Number of lives.
    """
    first = np.full(count, -1, dtype=np.int64)
    found = np.full(len(seq), -1, dtype=np.int64)
    at = len(seqs) - 1
    for question in range(len(seq) - 1, -1, -1):
        while at >= 0 and seqs[at] > seq[question]:
            if own[at] >= 0:
                first[own[at]] = at
            at -= 1
        if lives[question] >= 0:
            found[question] = first[lives[question]]
    return found
