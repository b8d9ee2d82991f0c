"""What is asked of the life of a row again and again: compiled code of `plain_compiled`."""

from __future__ import annotations

from speckv_debug.replay.compiling import Array, inlined
from speckv_debug.replay.plain_numbers import (
    ALLOCATED,
    BOUNDS,
    COMMITTED,
    DECIDED,
    DECIDED_FROM,
    DECIDED_TO,
    END_DUE,
    ENDED,
    EPOCH,
    GRANTED,
    GRANTS_MADE,
    OTHER_GRANTS,
    OWNER,
    PREPARED,
    PREPARED_AT,
    REPORTED,
    REPORTS_MADE,
    RESET,
    RESULTS,
    TOLD,
    UNWRITTEN,
)
from speckv_debug.replay.plain_tables import OF_EPOCH, REQUEST, ROW, STEP
from speckv_debug.replay.ragged import NULL


@inlined
def runs_for(at: int, of: Array, lives: Array) -> bool:
    """The event is of the life that its row has, and of no other request; its step is known."""
    row, request = of[ROW, at], of[REQUEST, at]
    if row < 1 or row >= len(lives) or of[STEP, at] == NULL:
        return False
    epoch = lives[row, EPOCH]
    return bool(epoch >= 0 and of[OF_EPOCH, at] == epoch and (request < 0 or request == lives[row, OWNER]))


@inlined
def settled(row: int, lives: Array) -> bool:
    """What a preparation decided was granted and reported; the next one may begin."""
    kept = True
    if lives[row, DECIDED]:
        grown = lives[row, DECIDED_TO] - lives[row, DECIDED_FROM]
        told = lives[row, GRANTS_MADE] > 0 or lives[row, OTHER_GRANTS] == 0
        kept = lives[row, GRANTED] == grown if told else grown <= 0
        if lives[row, REPORTS_MADE] == 1 and lives[row, REPORTED] != lives[row, DECIDED_TO]:
            kept = False
    lives[row, DECIDED] = lives[row, GRANTED] = lives[row, GRANTS_MADE] = 0
    lives[row, OTHER_GRANTS] = lives[row, REPORTS_MADE] = 0
    return kept


@inlined
def prepares(row: int, step: int, lives: Array, now: Array) -> bool:
    """The event is of a preparation of this step; False if it comes late, or the one before it was not as due."""
    if step <= now[PREPARED] or step < lives[row, PREPARED_AT]:
        return False
    kept = True
    if step > lives[row, PREPARED_AT]:
        kept = settled(row, lives)
        lives[row, PREPARED_AT] = step
    return kept


@inlined
def repeats(row: int, committed: int, allocated: int, lives: Array, now: Array) -> bool:
    """Lengths are as they were reported last; NULL is not asked for."""
    if not lives[row, TOLD] or lives[row, RESET] or lives[row, ENDED]:
        return True
    now[BOUNDS] += 1
    same = committed == NULL or committed == lives[row, COMMITTED]
    return same and (allocated == NULL or allocated == lives[row, ALLOCATED])


@inlined
def ends(row: int, lives: Array) -> bool:
    """The life is over: nothing that was granted to it waits."""
    lives[row, ENDED], lives[row, RESULTS] = 1, 0
    return bool(lives[row, UNWRITTEN] == 0 and lives[row, END_DUE] == NULL)
