"""Slots of compressed KV (C4) that follow from those of the main pool, group of positions by group."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, mask

RATIO = 4
"""Positions that one entry stands for: the slot `s` of the last of them gives the entry `s // 4`, where `s % 4 = 3`."""


class SlotLookup(Protocol):
    """What the main table holds at a position of the row of each forward, `owners[k]` at `positions[k]`; NULL if unknown."""

    def __call__(self, owners: Int64s, positions: Int64s) -> Int64s: ...


def derived_entries(slots: Ragged, positions: Ragged, start: Int64s, main: SlotLookup) -> Int64s:
    """The entry that is due for each slot, parallel to `slots.values`; NULL where none is known.

    A forward that gives positions gives those of tokens, or of the groups; one that gives none begins with the first group
    that ends at `start` or behind it, or with group `start`: either will do.

    Args:
        slots: Those used, of each forward.
        positions: Of the slots, where recorded.
        start: Of each forward.
        main: Looks up slots of the main pool.
    """
    owners = slots.owners
    told = mask(positions.filled & (positions.lengths == slots.lengths))[owners]
    given = positions.at(owners, slots.within)
    given = np.where(told, given, NULL)
    of_tokens = _ends(mask(~told | (given % RATIO == RATIO - 1)), owners, len(slots))
    first = start[owners] // RATIO + slots.within
    by_tokens = np.where(told, given, first * RATIO + RATIO - 1)
    by_groups = np.where(told, given, start[owners] + slots.within) * RATIO + RATIO - 1
    found, other = (_entry(main(owners, each), each) for each in (by_tokens, by_groups))
    as_groups = mask((other != NULL) & (other == slots.values))
    whole = _ends(as_groups, owners, len(slots)) & (~told | ~of_tokens)
    return np.where(whole, other, found)


def derived_pools(info_pools: dict[str, str], spaces: Namespaces, taken: set[int]) -> list[str]:
    """Pools of C4 entries that nobody grants or names in a table: they follow from the main one's slots."""
    return [name for name, kind in info_pools.items() if kind == "c4" and spaces.index(name) not in taken]


def _entry(slot: Int64s, position: Int64s) -> Int64s:
    """The entry of a group, by the slot of its last position."""
    closes = (slot != NULL) & (slot % RATIO == RATIO - 1) & (position % RATIO == RATIO - 1)
    return np.where(closes, slot // RATIO, NULL)


def _ends(hit: Mask, owners: Int64s, count: int) -> Mask:
    """For each slot whether all slots of its forward are hit."""
    missed = np.zeros(count, dtype=np.bool_)
    missed[owners[~hit]] = True
    return mask(~missed[owners])
