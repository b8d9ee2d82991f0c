"""The replay itself: a shadow cache is written, moved and looked at, one launch or mover call after the other."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.ragged import NULL, Int64s
from speckv_debug.replay.shadow import UNWRITTEN, ShadowCache
from speckv_debug.replay.shadow_units import ShadowUnits

CHUNK = 512
"""Units whose identities are made at once."""


def versions_found(units: ShadowUnits, slots: Int64s, after: Int64s, device: str) -> Int64s:
    """The version in each slot after a unit, `UNWRITTEN` of one that nothing was written to.

    Args:
        units: What is done.
        slots: `[n]` slot ids that are looked at.
        after: `[n]` unit behind which each is looked at, ascending.
        device: `cpu` or `cuda`.
    """
    numbers, found = units.number(slots), np.full(len(slots), UNWRITTEN, dtype=np.int64)
    looks = np.flatnonzero(numbers >= 0)
    if not len(looks):
        return found
    numbers, bounds = numbers[looks], np.arange(int(after[looks[-1]]) + 2)
    written, moved, looked = (
        np.searchsorted(each, bounds).tolist() for each in (units.element_unit, units.pair_unit, after[looks])
    )
    cache = ShadowCache(len(units.slots), device)
    elements, rows = units.element, units.number(units.writes.slots.values[units.element])
    targets, sources = (
        units.number(each[units.pair]) for each in (units.moves.tgt_of_src, units.moves.src.values)
    )
    for unit in range(len(bounds) - 1):
        if unit % CHUNK == 0:
            first = written[unit]
            identities = _identities(units, elements[first : written[min(unit + CHUNK, len(bounds) - 1)]])
        if (a := written[unit]) < (b := written[unit + 1]):
            cache.write(rows[a:b], identities[a - first : b - first], distinct=True)
        if (a := moved[unit]) < (b := moved[unit + 1]):
            cache.move(targets[a:b], sources[a:b])
        if (a := looked[unit]) < (b := looked[unit + 1]):
            found[looks[a:b]] = cache.versions(numbers[a:b])
    return found


def _identities(units: ShadowUnits, elements: Int64s) -> Int64s:
    """Request, epoch, position, token and version `[n, 5]` of written rows; -1 where there is none."""
    writes = units.writes
    event = writes.owners[elements]
    columns = (
        writes.request[0][event],
        writes.epoch[event],
        writes.positions[elements],
        writes.tokens[elements],
    )
    return np.stack([*(np.where(each == NULL, -1, each) for each in columns), elements], axis=1)
