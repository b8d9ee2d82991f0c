"""Where the rows may have stood that a drop event reports: a note of a drop may come late."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s


def first_lost(drops: Columns, tables: Iterable[Columns]) -> Int64s:
    """First `seq` of what each drop event may be about, the beginning of the step before its own: int64[drops].

    An event that is left out, of no rows, stands where it was; so does a drop before which no step is known.

    Args:
        drops: The table `drop`.
        tables: All tables with a `seq` and a `step`.
    """
    seq = drops.ints("seq")
    if not (late := drops.ints("rows") != 0).any():
        return seq
    return np.where(late, np.minimum(_begins(drops, list(tables)), seq), seq)


def _begins(drops: Columns, tables: list[Columns]) -> Int64s:
    """First `seq` of the step of each drop and of the one before it."""
    seqs, steps = (np.concatenate([table.ints(name) for table in tables]) for name in ("seq", "step"))
    known = steps != NULL
    order = np.lexsort((seqs[known], steps[known]))
    seqs, steps = seqs[known][order], steps[known][order]
    if not len(seqs):
        return drops.ints("seq")
    by_seq = np.argsort(seqs, kind="stable")
    before = by_seq[np.maximum(np.searchsorted(seqs[by_seq], drops.ints("seq")) - 1, 0)]
    own = np.where(drops.ints("step") == NULL, steps[before], drops.ints("step"))
    each, first = np.unique(steps, return_index=True)
    begin, at = seqs[first], np.searchsorted(each, own, side="right") - 1
    earlier: Int64s = np.minimum(begin[np.maximum(at, 0)], begin[np.maximum(at - 1, 0)])
    return earlier
