"""Which positions of a request have draft KV when the drafter reads them: one pass over events in the order of `seq`.

Plain Python that numba compiles where there are many events (`replay/draft_reads.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
GRANT, NAME, WRITE, DRAFT, LOAD, COPY, BEGIN, HIDE = range(8)
"""Slots are granted, named by a request row, written by a draft extend, written by a draft step, loaded, copied; a row begins;
slots may have been written by a draft extend."""
MISSING, COVERED, UNSEEN = 0, 1, 2


def fold(events: Array, slots: Array, table: Array, state: Array, drafted: int, found: Array) -> None:
    """Write to `found`, for each event that reads, the first position without draft KV.

    Args:
        events: int64[events, 7]: kind, row, start (of a row that begins, its epoch; of a load, the state), first and end of its slots in `slots`, exclusive end of what it reads
            (-1 reads nothing), window of the drafter (0 for all).
        slots: int64, slots of all events; of a copy its sources, then its targets.
        table: int32[rows, width], the slot of each position, -1 where it was not seen.
        state: int8[slots], MISSING, COVERED or UNSEEN.
        drafted: State of a slot that a draft step wrote in place.
        found: int64[events, 3]: first position that is MISSING and how many are, how many are UNSEEN; -1, 0, 0 before.
    """
    rows = len(table)
    checked, drafting = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int8)
    epochs = np.full(rows, -1, dtype=np.int64)
    for number in range(len(events)):
        kind, row, start = events[number, 0], events[number, 1], events[number, 2]
        first, end, reads, window = events[number, 3], events[number, 4], events[number, 5], events[number, 6]
        known = 0 <= row < rows
        if known and reads >= 0 and not (kind == DRAFT and drafting[row]):
            for position in range(max(checked[row], reads - window if window else 0), reads):
                slot = table[row, position] if position < table.shape[1] else -1
                held = state[slot] if 0 <= slot < len(state) else UNSEEN
                if held == UNSEEN:
                    found[number, 2] += 1
                elif held == MISSING:
                    found[number, 1] += 1
                    if found[number, 0] < 0:
                        found[number, 0] = position
            checked[row] = max(checked[row], reads)
        if reads > 0 and not known:
            found[number, 2] = reads
        if known:
            drafting[row] = 1 if kind == DRAFT else (0 if kind == WRITE else drafting[row])
        if kind == NAME and known:
            for place in range(first, end):
                if 0 <= start + place - first < table.shape[1]:
                    table[row, start + place - first] = slots[place]
            checked[row] = min(checked[row], max(start, 0))
        elif kind == BEGIN and known and (start < 0 or start != epochs[row]):
            checked[row], drafting[row], epochs[row] = 0, 0, start
            table[row, :] = -1
        elif kind == COPY:
            half = (end - first) // 2
            for place in range(first, first + half):
                source, target = slots[place], slots[place + half]
                if 0 <= source < len(state) and 0 <= target < len(state):
                    state[target] = state[source]
        elif kind == HIDE:
            for place in range(first, end):
                if 0 <= slots[place] < len(state) and state[slots[place]] == MISSING:
                    state[slots[place]] = UNSEEN
        elif kind in (GRANT, WRITE, DRAFT, LOAD):
            value = MISSING if kind == GRANT else COVERED
            if kind == DRAFT:
                value = drafted
            elif kind == LOAD:
                value = start
            for place in range(first, end):
                if 0 <= slots[place] < len(state):
                    state[slots[place]] = value
