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
    order = _order(of_verify, verifies.batch_index, verifies.seq)
    keys = of_verify[order]
    first = np.searchsorted(keys, of_event, "left")
    counts = np.searchsorted(keys, of_event, "right") - first
    verify = order[np.repeat(first, counts) + spread(counts)]
    return verify, np.repeat(np.arange(len(seq), dtype=np.int64), counts), counts


def _order(step: Int64s, place: Int64s, seq: Int64s) -> Int64s:
    """What sorts verifies by step, place in the batch and `seq`; most are sorted already."""
    (later, same), (behind, beside) = (
        (each[1:] > each[:-1], each[1:] == each[:-1]) for each in (step, place)
    )
    if (later | (same & (behind | (beside & (seq[1:] >= seq[:-1]))))).all():
        return np.arange(len(step))
    return np.lexsort((seq, place, step))


def batch_spans(verify_seq: Int64s, event_seq: Int64s, event: Int64s) -> tuple[Int64s, Int64s]:
    """First and last `seq` of the verifies and the event of each pair's batch.

    Args:
        verify_seq: int64[pairs], of each pair's verify.
        event_seq: int64[pairs], of its event.
        event: int64[pairs], number of the event: pairs of one event are one batch.
    """
    count = int(event.max(initial=-1)) + 1
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, -1, dtype=np.int64)
    np.minimum.at(first, event, np.minimum(verify_seq, event_seq))
    np.maximum.at(last, event, np.maximum(verify_seq, event_seq))
    return first[event], last[event]
