"""Lengths as the host reports them, decides them and ends with them: compiled handlers of `plain_compiled`."""

from __future__ import annotations

from speckv_debug.replay.compiling import Array, inlined
from speckv_debug.replay.plain_life import ends, prepares, repeats, runs_for
from speckv_debug.replay.plain_numbers import (
    ALLOCATED,
    BEGUN,
    BOUNDS,
    COMMITS,
    COMMITTED,
    DECIDED,
    DECIDED_FROM,
    DECIDED_TO,
    DUE,
    END_DUE,
    ENDED,
    FORM,
    GROWTHS,
    HELD,
    HIGHEST,
    LATE_COMMITS,
    LEAVING,
    LEAVING_SINCE,
    PAGE_SIZE,
    PLAIN_FORM,
    RELEASED,
    REPORTED,
    REPORTS_MADE,
    RESET,
    RESULTS,
    ROOM,
    ROUNDED_FORM,
    ROW_GRANTS,
    ROW_WIDTH,
    TOKEN,
    TOLD,
    WAITING_ENDS,
    WAITING_ROWS,
    WAITING_STEPS,
)
from speckv_debug.replay.plain_tables import (
    AHEAD_BY,
    CAUSE,
    COMMIT,
    CUT,
    DECODE,
    ENDING,
    EXTEND,
    FLAGS,
    FORGETTING,
    GROWN,
    MAIN,
    OWN_ALLOCATED,
    OWN_COMMITTED,
    OWN_PAGE_SIZE,
    PREPARE,
    REPORT_ALLOCATED,
    REPORT_COMMITTED,
    ROW,
    STEP,
)
from speckv_debug.replay.ragged import NULL


@inlined
def commits(row: int, at: int, of: Array, lives: Array, now: Array) -> bool:
    """The result of the verify that waits longest is committed: what it accepted, or less where the output was cut."""
    now[COMMITS] += 1
    waiting, n = lives[row, RESULTS] - 1, lives[row, WAITING_ROWS]
    if not lives[row, TOLD] or waiting < 0 or lives[row, WAITING_STEPS] != of[STEP, at]:
        return False
    end = lives[row, WAITING_ENDS]
    lives[row, RESULTS] = waiting
    for place in range(waiting):
        lives[row, WAITING_STEPS + place] = lives[row, WAITING_STEPS + place + 1]
        lives[row, WAITING_ROWS + place] = lives[row, WAITING_ROWS + place + 1]
        lives[row, WAITING_ENDS + place] = lives[row, WAITING_ENDS + place + 1]
    grown = of[REPORT_COMMITTED, at] - lives[row, COMMITTED]
    cut = (of[FLAGS, at] & CUT) > 0 and 0 <= grown < n
    return bool((cut and of[REPORT_COMMITTED, at] < end) or (grown == n and of[REPORT_COMMITTED, at] == end))


@inlined
def leads_on(row: int, cause: int, flags: int, committed: int, lives: Array) -> None:
    """What a report says of the length at which the next verify begins; of a forward that was seen it says nothing new."""
    if flags & CUT or cause == ENDING:
        lives[row, DUE], lives[row, BEGUN] = NULL, 0
    elif EXTEND <= cause <= DECODE:
        if not lives[row, BEGUN]:
            lives[row, DUE] = committed
    elif cause != PREPARE and cause != COMMIT:
        lives[row, DUE], lives[row, BEGUN] = committed, 0


@inlined
def report(at: int, of: Array, lives: Array, now: Array, facts: Array) -> bool:
    """Lengths as the host has them."""
    if not runs_for(at, of, lives):
        return False
    row, cause, flags = of[ROW, at], of[CAUSE, at], of[FLAGS, at]
    committed, allocated = of[REPORT_COMMITTED, at], of[REPORT_ALLOCATED, at]
    if not lives[row, HELD] and cause != ENDING:
        return False
    if committed < 0 or committed > allocated or allocated > facts[ROW_WIDTH]:
        return False
    now[BOUNDS] += 1
    if not flags & MAIN:
        return bool(cause != PREPARE and cause != COMMIT)
    if cause == PREPARE:
        if not prepares(row, of[STEP, at], lives, now) or not repeats(row, committed, NULL, lives, now):
            return False
        lives[row, REPORTS_MADE] += 1
        lives[row, REPORTED] = allocated
    elif cause == COMMIT:
        now[LATE_COMMITS] += 1
        if lives[row, ENDED] or not repeats(row, NULL, allocated, lives, now):
            return False
        if not commits(row, at, of, lives, now):
            return False
    elif cause == DECODE:
        now[LATE_COMMITS] += 1
        if lives[row, ENDED]:
            return False
    if EXTEND <= cause <= PREPARE and lives[row, END_DUE] != NULL:
        if allocated != lives[row, END_DUE]:
            return False
        lives[row, END_DUE] = NULL
    leads_on(row, cause, flags, committed, lives)
    if flags & (CUT | FORGETTING):
        lives[row, TOKEN] = NULL
    if cause != ENDING and not lives[row, ENDED]:
        lives[row, ROOM] = allocated
    lives[row, TOLD], lives[row, RESET] = 1, cause == ENDING
    lives[row, COMMITTED], lives[row, ALLOCATED] = committed, allocated
    return True


@inlined
def reserve(at: int, of: Array, lives: Array, now: Array, facts: Array) -> bool:
    """What a decode preparation decides."""
    if not runs_for(at, of, lives):
        return False
    row, step, ahead = of[ROW, at], of[STEP, at], of[AHEAD_BY, at]
    if lives[row, ENDED] or not prepares(row, step, lives, now) or lives[row, DECIDED]:
        return False
    committed, allocated, grown = of[OWN_COMMITTED, at], of[OWN_ALLOCATED, at], of[GROWN, at]
    if committed < 0 or committed > allocated or ahead == NULL or grown > facts[ROW_WIDTH]:
        return False
    if of[OWN_PAGE_SIZE, at] != NULL and of[OWN_PAGE_SIZE, at] != facts[PAGE_SIZE]:
        return False
    now[BOUNDS] += 1
    now[GROWTHS] += 1
    if not repeats(row, committed, allocated, lives, now):
        return False
    plain, size = committed + ahead, facts[PAGE_SIZE]
    rounded = (plain + size - 1) // size * size
    as_plain = facts[FORM] != ROUNDED_FORM and grown == max(allocated, plain)
    if not as_plain and (facts[FORM] == PLAIN_FORM or grown != max(allocated, rounded)):
        return False
    lives[row, DECIDED], lives[row, DECIDED_FROM], lives[row, DECIDED_TO] = 1, allocated, grown
    lives[row, ROOM] = grown
    now[HIGHEST] = max(now[HIGHEST], step)
    return True


@inlined
def release(at: int, of: Array, lives: Array, now: Array, facts: Array) -> bool:
    """A request ends; its row has to come back."""
    if not runs_for(at, of, lives):
        return False
    row, committed, allocated = of[ROW, at], of[OWN_COMMITTED, at], of[OWN_ALLOCATED, at]
    if committed < 0 or committed > allocated or allocated > facts[ROW_WIDTH]:
        return False
    now[BOUNDS] += 1
    if lives[row, ENDED] or not repeats(row, committed, allocated, lives, now):
        return False
    now[LEAVING_SINCE] = min(now[LEAVING_SINCE], of[STEP, at])
    now[LEAVING] += 1
    now[ROW_GRANTS] += 1
    lives[row, RELEASED], lives[row, DUE], lives[row, TOKEN], lives[row, BEGUN] = 1, NULL, NULL, 0
    return ends(row, lives)
