"""Half-open ranges in lists of slots: `[7, "50048:50176"]` ↔ 129 integers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from speckv_debug.recording.mistake import Mistake, shown

SLOT_LISTS = frozenset({"slots", "src", "tgt", "out_cache_loc", "table_slots", "full_slots", "swa_slots"})
"""Columns that export writes with ranges."""
RANGE_LISTS = SLOT_LISTS | {"pages", "positions"}
"""Columns in which import reads ranges."""
LONGEST_LIST = 1 << 24
"""Items of one list after expansion: larger than any pool, small enough for memory."""
SHORTEST_RUN = 16
LARGEST_SLOT = (1 << 63) - 1
_RANGE = re.compile(r"(-?[0-9]{1,20}):(-?[0-9]{1,20})")


def expand(items: Sequence[Any]) -> npt.NDArray[np.int64]:
    """The slots that integers and ranges name.

    Raises:
        Mistake: A range is malformed, reversed or too long, or an item is neither.
    """
    pieces = [_bounds(item) for item in items]
    if sum(stop - start for start, stop in pieces) > LONGEST_LIST:
        raise Mistake(
            f"the ranges name more than {LONGEST_LIST} slots", "No pool is that large: check the bounds."
        )
    if not pieces:
        return np.empty(0, np.int64)
    return np.concatenate([np.arange(stop - start, dtype=np.int64) + start for start, stop in pieces])


def _bounds(item: Any) -> tuple[int, int]:
    if type(item) is int:
        start, stop = item, item + 1
    else:
        match = _RANGE.fullmatch(item) if isinstance(item, str) else None
        if not match:
            raise Mistake(
                f"{shown(item)} is neither a slot nor a range", 'Write 7, or "50048:50176" (half-open).'
            )
        start, stop = int(match[1]), int(match[2])
    if stop < start:
        raise Mistake(f"the range {shown(item)} is reversed", f'Write "{stop}:{start}" (half-open).')
    if start < -LARGEST_SLOT - 1 or stop > LARGEST_SLOT + 1:
        raise Mistake(f"{shown(item)} is out of range", "Slots are 64-bit integers.")
    return start, stop


def shorten(slots: list[int]) -> list[int | str]:
    """Runs of at least 16 consecutive slots as ranges, the rest as they are."""
    if len(slots) < SHORTEST_RUN:
        return list(slots)
    array = np.array(slots, np.int64)
    follows = (np.diff(array) == 1) & (array[1:] > array[:-1]) & (array[1:] < LARGEST_SLOT)
    ends = [*(np.flatnonzero(~follows) + 1).tolist(), len(slots)]
    short: list[int | str] = []
    for start, end in pairwise([0, *ends]):
        run = slots[start:end]
        short += [f"{run[0]}:{run[-1] + 1}"] if len(run) >= SHORTEST_RUN else run
    return short
