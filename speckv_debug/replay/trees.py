"""Draft trees of many requests at once: from first-child and next-sibling links to parents."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, frozen, spread, starts

ROOT, UNLINKED = -1, -2
COMPILED_FROM = 100_000
"""Rows from which on compiled code is worth the time to load it."""
WIDEST = 1 << 16
"""No engine verifies more rows of one request; a width beyond it is taken for a damaged value."""


def parents_of(next_token: Ragged, next_sibling: Ragged, width: Int64s, chain: Mask) -> Ragged:
    """Parent of each local row, `w` a request.

    Links are local to the request, -1 for none. A chain needs no links. Absent where a tree has no links of
    length w.
    """
    linked = next_token.present & next_sibling.present
    linked &= (next_token.lengths == width) & (next_sibling.lengths == width)
    known = (linked | chain) & (width >= 0) & (width <= WIDEST)
    lengths = np.where(known, width, 0)
    parents = spread(lengths) - 1
    offsets = starts(lengths)
    if len(parents) >= COMPILED_FROM:
        from speckv_debug.replay.links import follow

        first, second = (
            (frozen(links.values), frozen(links.offsets)) for links in (next_token, next_sibling)
        )
        follow(*first, *second, offsets, linked, parents)
    elif linked.any():
        rows = np.flatnonzero(np.repeat(linked, lengths))
        base = np.repeat(offsets[:-1], lengths)[rows]
        trees = np.flatnonzero(linked)
        parents[rows] = _follow(
            next_token.take(trees).values,
            next_sibling.take(trees).values,
            rows,
            base,
            width[trees],
            len(parents),
        )
    return Ragged(parents, offsets, known)


def depths(parents: Ragged) -> Ragged:
    """How far each row is below its root, NULL for a row that no link reaches."""
    base = np.repeat(parents.offsets[:-1], parents.lengths)
    found = np.where(parents.values == ROOT, 0, NULL)
    linked = np.flatnonzero(parents.values >= 0)
    while len(linked):
        above = found[base[linked] + parents.values[linked]]
        ready = above != NULL
        if not ready.any():
            break
        found[linked[ready]] = above[ready] + 1
        linked = linked[~ready]
    return Ragged(found, parents.offsets, parents.present)


def _follow(child: Int64s, sibling: Int64s, rows: Int64s, base: Int64s, width: Int64s, total: int) -> Int64s:
    """Parents of `rows` (flat indices); `base` is the flat index of each row's root."""
    limit = np.repeat(width, width)
    parent = np.full(total, UNLINKED, dtype=np.int64)
    has_child = (child >= 0) & (child < limit)
    parent[base[has_child] + child[has_child]] = (rows - base)[has_child]
    before = np.full(total, -1, dtype=np.int64)
    has_sibling = (sibling >= 0) & (sibling < limit)
    before[base[has_sibling] + sibling[has_sibling]] = rows[has_sibling]
    _inherit(parent, before)
    parent[base] = ROOT
    return parent[rows]


def _inherit(parent: Int64s, before: Int64s) -> None:
    """Give each later sibling the parent of the sibling before it, in place."""
    pending = np.flatnonzero((parent == UNLINKED) & (before >= 0))
    while len(pending):
        inherited = parent[before[pending]]
        ready = inherited != UNLINKED
        if not ready.any():
            return
        parent[pending[ready]] = inherited[ready]
        pending = pending[~ready]
