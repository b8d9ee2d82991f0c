"""Grants, writes into rows, and rows that come and go: compiled handlers of `plain_compiled`."""

from __future__ import annotations

from speckv_debug.replay.compiling import Array, inlined
from speckv_debug.replay.plain_life import ends, prepares, runs_for, settled
from speckv_debug.replay.plain_numbers import (
    ACCEPTED_AT,
    DUE,
    END_DUE,
    ENDED,
    EPOCH,
    GRANTED,
    GRANTS_MADE,
    GROWTHS,
    HELD,
    LEAVING,
    LEAVING_SINCE,
    NEVER,
    OTHER_GRANTS,
    OWNER,
    PREPARED_AT,
    QUEUES,
    RELEASED,
    ROOM,
    ROW_GRANTS,
    TOKEN,
    TOKEN_AT,
    UNWRITTEN,
    VERIFIED_AT,
    VERIFY,
    WAITING_MOST,
    WIDTH,
)
from speckv_debug.replay.plain_tables import (
    FLAGS,
    GROWING,
    MAIN,
    OF_EPOCH,
    REQUEST,
    RESERVING,
    ROW,
    SLOTS_END,
    SLOTS_FROM,
    START,
    STEP,
)
from speckv_debug.replay.ragged import NULL


@inlined
def grant(at: int, of: Array, lives: Array, now: Array) -> bool:
    """Slots for a request."""
    if not runs_for(at, of, lives):
        return False
    row, flags, count = of[ROW, at], of[FLAGS, at], of[SLOTS_END, at] - of[SLOTS_FROM, at]
    if lives[row, ENDED] or not prepares(row, of[STEP, at], lives, now):
        return False
    if flags & MAIN and flags & RESERVING:
        lives[row, GRANTED] += count
        lives[row, GRANTS_MADE] += 1
    elif flags & MAIN:
        lives[row, OTHER_GRANTS] += 1
    if flags & MAIN and flags & GROWING and count > 0:
        waiting = lives[row, UNWRITTEN]
        if lives[row, END_DUE] != NULL or waiting == WAITING_MOST:
            return False
        lives[row, QUEUES + waiting] = at
        lives[row, UNWRITTEN] += 1
        now[GROWTHS] += 1
    return True


@inlined
def write(at: int, of: Array, slots: Array, grants: Array, granted: Array, lives: Array) -> bool:
    """Slots that enter a row: those that were granted since the last such event are its last ones."""
    row = of[ROW, at]
    if row < 1 or row >= len(lives) or not of[FLAGS, at] & MAIN:
        return True
    if of[OF_EPOCH, at] != lives[row, EPOCH] or not lives[row, UNWRITTEN]:
        return True
    place, begin = of[SLOTS_END, at], of[SLOTS_FROM, at]
    lives[row, END_DUE] = of[START, at] + place - begin
    for back in range(lives[row, UNWRITTEN]):
        each = lives[row, QUEUES + lives[row, UNWRITTEN] - 1 - back]
        first, count = grants[SLOTS_FROM, each], grants[SLOTS_END, each] - grants[SLOTS_FROM, each]
        place -= count
        if place < begin:
            return False
        for slot in range(count):
            if granted[first + slot] != slots[place + slot]:
                return False
    lives[row, UNWRITTEN] = 0
    return bool(of[START, at] != NULL)


@inlined
def row_alloc(at: int, of: Array, lives: Array, held: Array, now: Array) -> bool:
    """A row is handed out, or asked for again by a prompt in chunks."""
    row, epoch, request = of[ROW, at], of[OF_EPOCH, at], of[REQUEST, at]
    if row < 1 or row >= len(lives) or epoch < 0 or request < 0:
        return False
    now[ROW_GRANTS] += 1
    if lives[row, HELD]:
        return lives[row, EPOCH] == epoch and lives[row, OWNER] == request and not lives[row, ENDED]
    if epoch <= lives[row, EPOCH] or held[request] >= 0 or not settled(row, lives):
        return False
    accepted, verified = lives[row, ACCEPTED_AT], lives[row, VERIFIED_AT]
    for field in range(WIDTH):
        lives[row, field] = 0
    lives[row, EPOCH], lives[row, OWNER], lives[row, HELD], lives[row, VERIFY] = epoch, request, 1, -1
    lives[row, ACCEPTED_AT], lives[row, VERIFIED_AT], lives[row, PREPARED_AT] = accepted, verified, NULL
    lives[row, DUE] = lives[row, ROOM] = lives[row, END_DUE] = NULL
    lives[row, TOKEN] = lives[row, TOKEN_AT] = NULL
    held[request] = row
    now[ROW_GRANTS] += 1
    return True


@inlined
def row_free(at: int, of: Array, lives: Array, held: Array, now: Array) -> bool:
    """A row comes back from the life that holds it."""
    row, request = of[ROW, at], of[REQUEST, at]
    if row < 1 or row >= len(lives) or not lives[row, HELD]:
        return False
    if of[OF_EPOCH, at] != lives[row, EPOCH] or (request >= 0 and request != lives[row, OWNER]):
        return False
    now[ROW_GRANTS] += 1
    if lives[row, RELEASED]:
        now[LEAVING] -= 1
        if not now[LEAVING]:
            now[LEAVING_SINCE] = NEVER
    lives[row, HELD] = lives[row, RELEASED] = 0
    held[lives[row, OWNER]] = -1
    return ends(row, lives)
