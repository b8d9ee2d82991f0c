"""Tokens and positions of a forward and of its verify: compiled code of `plain_compiled`."""

from __future__ import annotations

from speckv_debug.replay.compiling import Array, inlined
from speckv_debug.replay.plain_numbers import (
    OF_TOKENS,
    REACHES,
    ROOM,
    TOKEN,
    TOKEN_AT,
    UNHANDED,
    UNSAID,
    UNTOLD,
    VERIFY,
)
from speckv_debug.replay.plain_tables import (
    DRAFT_POSITIONS,
    DRAFT_POSITIONS_END,
    DRAFTS,
    DRAFTS_END,
    POSITIONS_END,
    POSITIONS_FROM,
    TOKENS_END,
    TOKENS_FROM,
)
from speckv_debug.replay.ragged import NULL


@inlined
def rises(start: int, values: Array, first: int, end: int, linear: bool) -> bool:
    """Positions rise by one from the start; of a tree, only its root is looked at: see `branches`."""
    stop = end if linear else min(first + 1, end)
    wrong = 0
    for at in range(first, stop):
        wrong += values[at] != start + at - first
    return wrong == 0


@inlined
def branches(values: Array, first: int, end: int, links: Array, begin: int, stop: int, rise: int) -> bool:
    """The row that each row of a tree is linked to stands `rise` positions behind it."""
    if stop - begin != end - first:
        return True
    wrong = 0
    for row in range(end - first):
        link = links[begin + row]
        if 0 <= link < end - first:
            wrong += values[first + link] != values[first + row] + rise
    return wrong == 0


@inlined
def takes_in(
    row: int,
    start: int,
    end: int,
    values: Array,
    first: int,
    last: int,
    extending: bool,
    lives: Array,
    now: Array,
) -> bool:
    """The tokens of a forward of the target: none is a placeholder, the first is the one that was handed on."""
    for at in range(first, last):
        if values[at] == -1 or values[at] == NULL:
            return False
    now[OF_TOKENS] += 1
    now[REACHES] += 1
    if first == last:
        now[UNSAID] += 1
    elif lives[row, TOKEN] != NULL and lives[row, TOKEN_AT] == start:
        if values[first] != lives[row, TOKEN]:
            return False
    elif not extending:
        now[UNHANDED] += 1
    if lives[row, ROOM] == NULL:
        now[UNTOLD] += 1
    return bool(lives[row, ROOM] == NULL or end <= lives[row, ROOM])


@inlined
def computed(
    row: int,
    at: int,
    of: Array,
    drafted: Array,
    drafted_at: Array,
    forwards: Array,
    tokens: Array,
    positions: Array,
    lives: Array,
) -> bool:
    """The forward of a verify took in its draft tokens, at their positions."""
    each = lives[row, VERIFY]
    if each < 0:
        return False
    first, start, end = of[DRAFTS, at], forwards[TOKENS_FROM, each], forwards[TOKENS_END, each]
    if end - start != of[DRAFTS_END, at] - first:
        return False
    wrong = 0
    for place in range(end - start):
        wrong += tokens[start + place] != drafted[first + place]
    begin, stop, due = forwards[POSITIONS_FROM, each], forwards[POSITIONS_END, each], of[DRAFT_POSITIONS, at]
    if begin < stop and stop - begin != of[DRAFT_POSITIONS_END, at] - due:
        return False
    for place in range(stop - begin):
        wrong += positions[begin + place] != drafted_at[due + place]
    return wrong == 0
