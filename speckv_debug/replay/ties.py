"""Accepted paths that leave the kernel's at siblings of one token: an engine may take any of them."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, any_per_list, mask
from speckv_debug.replay.recomputed_accepts import WALK, RecomputedAccepts


def tied_paths(recomputed: RecomputedAccepts) -> Mask:
    """Verifies whose recorded path is another one than the kernel's and just as right, `bool[n]`.

    Each row of it is a child of the row before and carries that row's choice; a greedy one goes on as long as there is such
    a child. Siblings of one token hold the same KV.
    """
    told, tied = recomputed.verifies.path, np.zeros(len(recomputed), dtype=np.bool_)
    which = np.flatnonzero(told.present & (recomputed.kernel == WALK) & _apart(told, recomputed.path))
    tied[which] = broken_at(recomputed, which) == NULL
    return tied


def broken_at(recomputed: RecomputedAccepts, which: Int64s) -> Int64s:
    """The place along the recorded path of some verifies that no greedy target takes, NULL where there is none.

    Its length where the path ends too early.
    """
    verifies, path = recomputed.verifies, recomputed.verifies.path.take(which)
    tokens, parents = verifies.ragged("draft_tokens").take(which), verifies.parents_at(which)
    owners, k = path.owners, path.within
    above = np.append(NULL, path.values[:-1])[: len(owners)]
    chosen = recomputed.chosen_at(which[owners], above)
    led = (parents.at(owners, path.values) == above) & (tokens.at(owners, path.values) == chosen)
    loose = np.where(k == 0, path.values != 0, ~led | (chosen == NULL))
    broken = np.where(_short(recomputed, which, path, parents), path.lengths, np.iinfo(np.int64).max)
    np.minimum.at(broken, owners[loose], k[loose])
    return np.where(broken == np.iinfo(np.int64).max, NULL, broken)


def next_rows(recomputed: RecomputedAccepts, index: int, row: int) -> list[int]:
    """Children of one verify's row that carry its choice."""
    one = np.array([index])
    below = np.flatnonzero(recomputed.verifies.parents_at(one)[0] == row)
    tokens, chosen = (
        recomputed.verifies.ragged("draft_tokens")[index],
        recomputed.chosen_at(one, np.array([row])),
    )
    return [int(child) for child in below[tokens[below] == chosen]]


def _short(recomputed: RecomputedAccepts, which: Int64s, path: Ragged, parents: Ragged) -> Mask:
    """Greedy paths whose last row has a child with the token that was chosen there, and paths of no row."""
    some = np.arange(len(which))
    last = path.at(some, path.lengths - 1)
    tokens, owners = recomputed.verifies.ragged("draft_tokens").take(which), parents.owners
    below = parents.values == last[owners]
    goes_on = below & (tokens.at(owners, parents.within) == recomputed.chosen_at(which, last)[owners])
    greedy = recomputed.exact[which]
    return mask((any_per_list(goes_on, owners, len(which)) & greedy) | (path.lengths == 0))


def _apart(told: Ragged, due: Ragged) -> Mask:
    """Where two lists of rows are not the same."""
    values = told.values != due.at(told.owners, told.within)
    return mask((told.lengths != due.lengths) | any_per_list(values, told.owners, len(told)))
