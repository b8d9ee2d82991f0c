"""Accepted paths edge by edge, in one pass; see `chains`."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.compiling import Array, compiled, inlined

NULL = int(np.iinfo(np.int64).min)


@inlined
def value_at(values: Array, offsets: Array, at: int, place: int) -> int:
    """Value `place` of list `at`, NULL where that is outside the list."""
    inside = 0 <= place < offsets[at + 1] - offsets[at]
    return values[offsets[at] + place] if inside else NULL


@compiled
def follow_edges(
    path: Array,
    paths: Array,
    parent: Array,
    parents: Array,
    chosen: Array,
    choices: Array,
    drafted: Array,
    drafts: Array,
    chain: Array,
    excused: Array,
    greedy: Array,
) -> tuple[Array, Array]:
    """`broken` and `untold` of `chains.edges`, bool[verifies] each.

    Args:
        path, parent, chosen, drafted: int64, values of lists whose offsets stand beside them.
        chain, excused, greedy: bool[verifies].
    """
    broken = np.zeros(len(chain), dtype=np.bool_)
    untold = np.zeros(len(chain), dtype=np.bool_)
    for at in range(len(chain)):
        for place in range(paths[at], paths[at + 1] - 1):
            row, following = path[place], path[place + 1]
            above = following - 1 if chain[at] else value_at(parent, parents, at, following)
            broken[at] |= not excused[at] and above != row
            choice, token = value_at(chosen, choices, at, row), value_at(drafted, drafts, at, following)
            told = greedy[at] and choice != NULL and token != NULL
            broken[at] |= told and choice != token
            untold[at] |= not told
    return broken, untold
