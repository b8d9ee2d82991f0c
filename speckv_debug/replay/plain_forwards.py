"""Verifies and forwards: compiled handlers of `plain_compiled`."""

from __future__ import annotations

from speckv_debug.replay.compiling import Array, inlined
from speckv_debug.replay.plain_life import runs_for
from speckv_debug.replay.plain_numbers import (
    ACCEPTED_AT,
    BEGUN,
    COMPUTED,
    DUE,
    ENDED,
    LEAVING,
    LEAVING_SINCE,
    OF_TOKENS,
    RESULTS,
    SUCCESSIONS,
    TOKEN,
    TOKEN_AT,
    VERIFIED_AT,
    VERIFY,
    WAITING_ENDS,
    WAITING_MOST,
    WAITING_ROWS,
    WAITING_STEPS,
)
from speckv_debug.replay.plain_tables import (
    ACCEPTED,
    BONUS,
    CHAIN,
    CHECKED,
    CHILDREN,
    CHILDREN_END,
    DRAFT_POSITIONS,
    DRAFT_POSITIONS_END,
    DRAFTS,
    DRAFTS_END,
    EXTENDING,
    FLAGS,
    LENGTH,
    NEW_LENGTH,
    OF_EPOCH,
    ORIGIN,
    PADDING,
    PATH,
    PATH_END,
    PLAIN,
    POSITIONS_END,
    POSITIONS_FROM,
    REQUEST,
    ROW,
    ROWS,
    SAMPLED,
    SIBLINGS,
    SIBLINGS_END,
    START,
    STEP,
    TOKENS_END,
    TOKENS_FROM,
    WRITTEN,
)
from speckv_debug.replay.plain_tokens import branches, computed, rises, takes_in
from speckv_debug.replay.ragged import NULL


@inlined
def verify(
    at: int,
    of: Array,
    drafted: Array,
    drafted_at: Array,
    index: Array,
    child: Array,
    sibling: Array,
    forwards: Array,
    tokens: Array,
    positions: Array,
    lives: Array,
    now: Array,
    facts: Array,
) -> bool:
    """A verify of a request."""
    if not runs_for(at, of, lives) or of[REQUEST, at] < 0:
        return False
    row, step, length, n, width = of[ROW, at], of[STEP, at], of[LENGTH, at], of[ACCEPTED, at], of[ROWS, at]
    late = step <= lives[row, ACCEPTED_AT] or step < lives[row, VERIFIED_AT]
    if late or length == NULL or width == NULL or of[ORIGIN, at] == NULL:
        return False
    path, origin = of[PATH, at], of[ORIGIN, at]
    if n < 1 or n > width or n > of[PATH_END, at] - path:
        return False
    for each in range(path, path + n):
        if index[each] < origin or index[each] >= origin + width:
            return False
    if of[NEW_LENGTH, at] != NULL and of[NEW_LENGTH, at] != length + n:
        return False
    if lives[row, DUE] != NULL and lives[row, DUE] != length:
        return False
    first, last = of[DRAFTS, at], of[DRAFTS_END, at]
    place, end = of[DRAFT_POSITIONS, at], of[DRAFT_POSITIONS_END, at]
    if end - place == last - first:
        if not rises(length, drafted_at, place, end, of[CHAIN, at] > 0):
            return False
        if not of[CHAIN, at]:
            if not branches(drafted_at, place, end, child, of[CHILDREN, at], of[CHILDREN_END, at], 1):
                return False
            if not branches(drafted_at, place, end, sibling, of[SIBLINGS, at], of[SIBLINGS_END, at], 0):
                return False
    if not takes_in(row, length, length + width, drafted, first, last, False, lives, now):
        return False
    if lives[row, VERIFIED_AT] == step:
        if not computed(row, at, of, drafted, drafted_at, forwards, tokens, positions, lives):
            return False
        now[OF_TOKENS] += 1
    elif facts[COMPUTED]:
        return False
    now[SUCCESSIONS] += 1
    lives[row, VERIFY], lives[row, ACCEPTED_AT] = -1, step
    lives[row, DUE] = lives[row, TOKEN_AT] = length + n
    lives[row, BEGUN] = 0
    lives[row, TOKEN] = of[BONUS, at] if first < last else NULL
    if not lives[row, ENDED]:
        waiting = lives[row, RESULTS]
        if waiting == WAITING_MOST:
            return False
        lives[row, WAITING_STEPS + waiting], lives[row, WAITING_ROWS + waiting] = step, n
        lives[row, WAITING_ENDS + waiting] = length + n
        lives[row, RESULTS] += 1
    return True


@inlined
def forward(at: int, of: Array, tokens: Array, positions: Array, lives: Array, now: Array) -> bool:
    """A row of a forward."""
    flags, step = of[FLAGS, at], of[STEP, at]
    if now[LEAVING] and step > now[LEAVING_SINCE]:
        return False
    if flags & PADDING:
        return bool(of[OF_EPOCH, at] == NULL)
    if not runs_for(at, of, lives):
        return False
    row, first, last = of[ROW, at], of[TOKENS_FROM, at], of[TOKENS_END, at]
    if flags & CHECKED:
        if step <= lives[row, VERIFIED_AT] or step <= lives[row, ACCEPTED_AT] or first == last:
            return False
        lives[row, VERIFIED_AT], lives[row, VERIFY] = step, at
    if flags & PLAIN:
        start, written = of[START, at], of[WRITTEN, at]
        if start == NULL or written == NULL:
            return False
        place, end = of[POSITIONS_FROM, at], of[POSITIONS_END, at]
        if end - place == last - first and not rises(start, positions, place, end, True):
            return False
        extending = (flags & EXTENDING) > 0
        if not takes_in(row, start, start + written, tokens, first, last, extending, lives, now):
            return False
        lives[row, DUE], lives[row, BEGUN] = start + written, 1
        lives[row, TOKEN_AT] = start + last - first
        lives[row, TOKEN] = of[SAMPLED, at] if first < last else NULL
    return True
