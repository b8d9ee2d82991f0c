"""Draft trees from first-child and next-sibling links, one tree after another."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.compiling import Array, compiled

ROOT, UNLINKED = -1, -2


@compiled
def follow(
    child: Array,
    children: Array,
    sibling: Array,
    siblings: Array,
    offsets: Array,
    linked: Array,
    parents: Array,
) -> None:
    """Write the parent of each row of the linked trees, as `trees.parents_of` says.

    Args:
        child, sibling: int64, links of all trees, those of one from `children` and `siblings` on.
        offsets: int64[trees + 1], where the rows of each tree begin in `parents`.
        linked: bool[trees], trees that have links of their length.
        parents: int64[rows], written in place.
    """
    for tree in range(len(linked)):
        if linked[tree]:
            width = offsets[tree + 1] - offsets[tree]
            first, second = child[children[tree] :][:width], sibling[siblings[tree] :][:width]
            _follow(first, second, parents[offsets[tree] : offsets[tree + 1]])


@compiled
def _follow(child: Array, sibling: Array, parent: Array) -> None:
    before = np.full(len(parent), -1, dtype=np.int64)
    parent[:] = UNLINKED
    for row in range(len(parent)):
        if 0 <= child[row] < len(parent):
            parent[child[row]] = row
        if 0 <= sibling[row] < len(parent):
            before[sibling[row]] = row
    found = True
    while found:
        found = False
        for row in range(len(parent)):
            if parent[row] == UNLINKED and before[row] >= 0 and parent[before[row]] != UNLINKED:
                parent[row], found = parent[before[row]], True
    if len(parent):
        parent[0] = ROOT
