"""Which slots of the prefix tree were read before anyone wrote to them: one pass over grants, writes, inserts and matches.

Each table comes as the `seq` of its events, ascending, their rows, all its lists of slots (flat, and where each begins),
and a column of what matters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from speckv_debug.replay.compiling import Array, compiled, inlined

NEVER = np.iinfo(np.int64).max
NOTHING, GRANTED, WRITTEN = 0, 1, 2
INSERT, MATCH = 1, 2
"""What a cache event does here."""


class Listed(NamedTuple):
    """One table: `what` is 1 of a grant that comes with its content, the request of a forward, the kind of a cache event."""

    seq: Array
    row: Array
    slots: Array
    offsets: Array
    what: Array


@inlined
def next_of(table: Listed, at: int) -> int:
    """`seq` of the next event."""
    return table.seq[at] if at < len(table.seq) else NEVER


@compiled
def grant(table: Listed, at: int, state: Array, waits: Array) -> None:
    """Slots get a new owner: empty, or loaded with their content."""
    for i in range(table.offsets[table.row[at]], table.offsets[table.row[at] + 1]):
        slot = table.slots[i]
        if 0 <= slot < len(state):
            state[slot], waits[slot] = (WRITTEN if table.what[at] else GRANTED), -1


@compiled
def insert(table: Listed, at: int, state: Array, waits: Array) -> None:
    """Slots that nobody has written to since their grant wait for it."""
    for i in range(table.offsets[table.row[at]], table.offsets[table.row[at] + 1]):
        slot = table.slots[i]
        if 0 <= slot < len(state) and state[slot] == GRANTED:
            waits[slot] = at


@compiled
def read(table: Listed, at: int, step: int, waits: Array, steps: Array) -> None:
    """A request that was served these slots runs: it reads what waits at this step."""
    for i in range(table.offsets[table.row[at]], table.offsets[table.row[at] + 1]):
        slot = table.slots[i]
        if 0 <= slot < len(waits) and waits[slot] >= 0 and steps[slot] == NEVER:
            steps[slot] = step


@compiled
def write(table: Listed, at: int, step: int, state: Array, waits: Array, steps: Array, early: Array) -> None:
    """Slots get their content; what was read at an earlier step was read too early."""
    for i in range(table.offsets[table.row[at]], table.offsets[table.row[at] + 1]):
        slot = table.slots[i]
        if 0 <= slot < len(state):
            if waits[slot] >= 0 and steps[slot] < step:
                early[waits[slot]] = slot
            state[slot], waits[slot], steps[slot] = WRITTEN, -1, NEVER


@compiled
def read_early(
    grants: Listed,
    transfers: Listed,
    forwards: Listed,
    steps: Array,
    cached: Listed,
    requests: Array,
    holes: Array,
    state: Array,
) -> tuple[Array, int]:
    """For each cache event a slot that it published and that was read at a step before it was written, -1 if none.

    And how many slots are published and not written at the end.

    Args:
        grants, transfers: What the slots get, and when their content comes with it.
        forwards: What the target wrote.
        steps: int64, of each forward, NEVER if unknown.
        cached: cache events; `requests` int64, whose they are, as `forwards.what`, -1 if unknown.
        holes: int64, `seq` behind each hole: nothing is known of any slot there.
        state: int8[slots], what is known of each slot before the first event; afterwards, behind the last.
    """
    waits = np.full(len(state), -1, dtype=np.int32)
    since = np.full(len(state), NEVER, dtype=np.int64)
    early = np.full(len(cached.seq), -1, dtype=np.int64)
    served = np.full(requests.max() + 1 if len(requests) else 0, -1, dtype=np.int32)
    g = t = f = c = hole = 0
    while f < len(forwards.seq) or c < len(cached.seq):
        seq = min(next_of(grants, g), next_of(transfers, t), next_of(forwards, f), next_of(cached, c))
        while hole < len(holes) and holes[hole] <= seq:
            state[:], waits[:] = NOTHING, -1
            hole += 1
        if next_of(grants, g) == seq:
            grant(grants, g, state, waits)
            g += 1
        elif next_of(transfers, t) == seq:
            grant(transfers, t, state, waits)
            t += 1
        elif next_of(forwards, f) == seq:
            who = forwards.what[f]
            if 0 <= who < len(served) and served[who] >= 0:
                read(cached, served[who], steps[f], waits, since)
                served[who] = -1
            write(forwards, f, steps[f], state, waits, since, early)
            f += 1
        else:
            if cached.what[c] == INSERT:
                insert(cached, c, state, waits)
            elif cached.what[c] == MATCH and 0 <= requests[c] < len(served):
                served[requests[c]] = c
            c += 1
    last = steps[-1] if len(steps) else 0
    waiting = 0
    for slot in range(len(waits)):
        waiting += waits[slot] >= 0
        if waits[slot] >= 0 and since[slot] < last:
            early[waits[slot]] = slot
    return early, waiting
