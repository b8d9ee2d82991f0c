"""One number for each distinct combination of columns."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.ragged import NULL, Int64s

ROOMY = 16
"""Entries of a table, for each key, up to which numbers are looked up in it instead of being sorted."""


def numbered(keys: Int64s) -> Int64s:
    """One number for each distinct column of `keys`, ascending by the first key, then the next."""
    if not keys.shape[1]:
        return np.empty(0, dtype=np.int64)
    packed = _packed(keys)
    if packed is None:
        return _ranked(np.lexsort(keys[::-1]), keys)
    low, span = int(packed.min()), int(packed.max() - packed.min()) + 1
    if span > ROOMY * len(packed):
        return _ranked(np.argsort(packed, kind="stable"), packed[None])
    places, present = packed - low, np.zeros(span, dtype=np.bool_)
    present[places] = True
    found, number = np.flatnonzero(present), np.empty(span, dtype=np.int64)
    number[found] = np.arange(len(found))
    return number[places]


def _packed(keys: Int64s) -> Int64s | None:
    """Each column as one number in the same order, None where that takes more than 62 bits."""
    packed, spans = np.zeros(keys.shape[1], dtype=np.int64), 1
    for key in keys:
        known = key != NULL
        low, high = int(key.min(where=known, initial=-1 - NULL)), int(key.max(where=known, initial=NULL))
        span = max(high - low, 0) + 2
        spans *= span
        if spans >= 1 << 62:
            return None
        packed = packed * span + np.where(known, key - (low - 1), 0)
    return packed


def _ranked(order: Int64s, keys: Int64s) -> Int64s:
    """The number of each column of `keys`, which `order` sorts."""
    new = np.ones(len(order), dtype=np.int64)
    new[0] = 0
    new[1:] = (keys[:, order][:, 1:] != keys[:, order][:, :-1]).any(axis=0)
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(new)
    return numbers
