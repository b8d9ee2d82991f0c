"""Which verifies an event of the whole batch belongs to."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.ragged import NULL, Int64s, spread
from speckv_debug.replay.verifies import VerifyBatch


def verifies_of_steps(verifies: VerifyBatch, seq: Int64s, step: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Pair events, given by `seq` and `step`, with the verifies of their step, in batch order.

    Without a step, an event belongs to the verifies without one since the event before it.

    Returns:
        (verify, event) indices of each pair, events ascending, and the number of pairs of each event.
    """
    of_verify, of_event = verifies.step.copy(), step.copy()
    loose_events, loose = np.flatnonzero(step == NULL), np.flatnonzero(verifies.step == NULL)
    of_event[loose_events] = -2 - np.arange(len(loose_events))
    of_verify[loose] = -2 - np.searchsorted(seq[loose_events], verifies.seq[loose])
    order = np.lexsort((verifies.seq, verifies.batch_index, of_verify))
    keys = of_verify[order]
    first = np.searchsorted(keys, of_event, "left")
    counts = np.searchsorted(keys, of_event, "right") - first
    verify = order[np.repeat(first, counts) + spread(counts)]
    return verify, np.repeat(np.arange(len(seq), dtype=np.int64), counts), counts
