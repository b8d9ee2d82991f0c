"""Rows that begin a life and end it, their lengths, and what is judged at an end: compiled handlers of `ledger_compiled`."""

from __future__ import annotations

from speckv_debug.replay import ledger_tenure as life
from speckv_debug.replay.compiling import Array, compiled, inlined
from speckv_debug.replay.fold_tenures import give_back, make_room, mark, page_of, rest, tenure_of
from speckv_debug.replay.ledger import BORN, ENDED, RESTORED, SETTLED, WHY
from speckv_debug.replay.ledger_arrays import (
    ASK,
    END_CODE,
    END_INDEX,
    END_TABLE,
    END_TENURE,
    FLAGS,
    INDEX,
    RELEASE,
    ROW,
    ROW_EPOCH,
    SPECIAL,
    TABLE,
    WITH_REQUEST,
    A,
    B,
    Book,
    Lives,
    Slots,
)
from speckv_debug.replay.ledger_book import HELD, NOBODY, UNKNOWN
from speckv_debug.replay.ledger_facts import PASS, UNSEEN
from speckv_debug.replay.ragged import NULL


@inlined
def row_alloc(
    event: Array,
    latest: Array,
    numbers: Array,
    slots_of: Array,
    pages_of: Array,
    spare: Array,
    refs_of: Array,
    now: Array,
) -> bool:
    """A row begins a new life, unless a chunked prompt asks for its own row again."""
    row, epoch, new = event[ROW], event[ROW_EPOCH], now[BORN]
    if row >= len(latest) or new >= len(numbers) or now[RESTORED]:
        return False
    old = latest[row]
    if old >= 0:
        if numbers[old, life.EPOCH] == epoch:
            return True
        if numbers[old, life.EPOCH] > epoch or numbers[old, life.SAVED] or numbers[old, life.STALE]:
            return False
    numbers[new] = 0
    room = numbers[old, life.ROOM] if old >= 0 else 0
    if room and not make_room(room, new, numbers, slots_of, pages_of, spare):
        return False
    if old >= 0:
        rest(old, numbers, pages_of, refs_of)
    numbers[new, life.ROW], numbers[new, life.EPOCH], numbers[new, life.TOLD] = row, epoch, event[INDEX]
    numbers[new, life.ALIVE] = numbers[new, life.COMPLETE] = 1
    numbers[new, life.NAMED] = (event[FLAGS] & WITH_REQUEST) > 0
    numbers[new, life.COMMITTED] = numbers[new, life.ALLOCATED] = numbers[new, life.TAIL] = -1
    numbers[new, life.TRIM_TO] = numbers[new, life.LAST] = -1
    latest[row] = new
    now[BORN] += 1
    return True


@inlined
def row_end(
    event: Array,
    latest: Array,
    numbers: Array,
    pages_of: Array,
    refs_of: Array,
    ended: Array,
    unsafe: Array,
    now: Array,
) -> bool:
    """A request ends: by its release, or by a row_free without one."""
    tenure = tenure_of(event, latest, numbers)
    if tenure < 0 or numbers[tenure, life.STALE]:
        return False
    alive, count = numbers[tenure, life.ALIVE], now[ENDED]
    if alive and count == len(ended):
        return False
    if event[TABLE] == RELEASE:
        mark(unsafe, event[INDEX], PASS)
        numbers[tenure, life.TAIL], numbers[tenure, life.TRIM_TO] = event[A], -1
        if alive and event[B] != NULL:
            numbers[tenure, life.ALLOCATED] = event[B]
    if alive:
        rest(tenure, numbers, pages_of, refs_of)
        ended[count, END_TABLE], ended[count, END_INDEX] = event[TABLE], event[INDEX]
        ended[count, END_TENURE], ended[count, END_CODE] = tenure, UNSEEN
        now[ENDED] += 1
    return True


@inlined
def lengths(
    event: Array, refs_of: Array, latest: Array, numbers: Array, slots_of: Array, pages_of: Array
) -> bool:
    """The host's lengths; entries of a live row behind the allocated length are stale."""
    tenure = tenure_of(event, latest, numbers)
    if tenure < 0:
        return tenure == NOBODY
    if event[FLAGS] & SPECIAL:
        numbers[tenure, life.TRIM_TO] = -1
    if event[A] != NULL:
        numbers[tenure, life.COMMITTED] = event[A]
    if event[B] == NULL:
        return True
    numbers[tenure, life.ALLOCATED] = event[B]
    length, extent = max(event[B], 0), numbers[tenure, life.EXTENT]
    if numbers[tenure, life.ALIVE] and length < extent:
        base = numbers[tenure, life.BASE]
        for at in range(base + length, base + extent):
            if pages_of[at] >= 0:
                refs_of[pages_of[at]] -= 1
            slots_of[at] = pages_of[at] = -1
        numbers[tenure, life.EXTENT] = length
    return True


@compiled
def held_code(tenure: int, slots: Slots, book: Book, lives: Lives, why: int) -> int:
    """What is judged at the end of a hold; ASK where a page has no holder left, or more has to be looked at."""
    numbers, before, at = lives.numbers, lives.before, lives.numbers[tenure, life.LAST]
    if numbers[tenure, life.INHERITS] or numbers[tenure, life.STALE]:
        return ASK
    whole, size, reserved, bound = numbers[tenure, life.COMPLETE] > 0, book.size, book.reserved, book.bound
    allocs = len(slots.grants) - 1
    while at >= 0:
        named, offsets = (slots.alloc, slots.grants) if at < allocs else (slots.write, slots.writes)
        index = at if at < allocs else at - allocs
        for place in range(offsets[index], offsets[index + 1]):
            page = page_of(named[place], size, reserved, bound)
            if page < 0:
                continue
            if book.state[page] == UNKNOWN:
                whole = False
            elif book.state[page] == HELD and book.owner[page] == tenure:
                kept = book.tree[page] > 0 or book.host[page] > 0 or book.session[page] != NOBODY
                if not (kept or book.moving[page] > 0 or book.refs[page] > 0 or book.pending[page] >= 0):
                    return ASK
        at = before[at]
    return PASS if whole else why


@compiled
def settle(slots: Slots, book: Book, lives: Lives, now: Array) -> bool:
    """As `ledger_lengths.settle`; what is settled before one that is left to others stays so."""
    numbers, ended = lives.numbers, lives.ended
    for at in range(now[SETTLED], now[ENDED]):
        if ended[at, END_CODE] == UNSEEN:
            tenure = ended[at, END_TENURE]
            code = held_code(tenure, slots, book, lives, now[WHY])
            if code == ASK:
                return False
            ended[at, END_CODE] = code
            if not numbers[tenure, life.ALIVE] and not numbers[tenure, life.SAVED]:
                base, room = numbers[tenure, life.BASE], numbers[tenure, life.ROOM]
                give_back(base, room, lives.slots, lives.pages, lives.spare)
                numbers[tenure, life.BASE] = numbers[tenure, life.ROOM] = numbers[tenure, life.EXTENT] = 0
                numbers[tenure, life.LAST] = -1
        now[SETTLED] = at + 1
    return True
