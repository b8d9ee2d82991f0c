"""Forwards, verifies and settled points that touch no page they must not: compiled handlers of `ledger_compiled`."""

from __future__ import annotations

from speckv_debug.replay import ledger_tenure as life
from speckv_debug.replay.compiling import Array, compiled, inlined
from speckv_debug.replay.fold_rows import settle
from speckv_debug.replay.fold_tenures import mark, page_of, tenure_of
from speckv_debug.replay.ledger import OPEN_GROUPS, QUIET, UNGRANTED, USE_SEQ, USE_STEP, WHY
from speckv_debug.replay.ledger_arrays import (
    ALLOC,
    END,
    FIRST,
    FLAGS,
    FORWARD,
    INDEX,
    ROW,
    SEQ,
    STAT,
    STEP,
    WITH_REQUEST,
    WRITE,
    A,
    B,
    Book,
    Codes,
    Lives,
    Slots,
)
from speckv_debug.replay.ledger_book import FREE, HELD, SAVED, TREE, UNKNOWN
from speckv_debug.replay.ledger_facts import PASS, SKIP
from speckv_debug.replay.ragged import NULL

FOREIGN = 1 << 8


@inlined
def seen_in(
    slots: Array,
    first: int,
    end: int,
    tenure: int,
    state_of: Array,
    owner_of: Array,
    tree_of: Array,
    size: int,
    reserved: int,
    bound: int,
) -> int:
    """Which states the pages of these slots are in: the sum of `1 << state` of those that occur.

    `FOREIGN` is one more bit: a page that is held, but not by this tenure alone.
    """
    found, start = 0, bound
    for at in range(first, end):
        if start <= slots[at] < start + size:
            continue  # in the page of the slot before it
        page = page_of(slots[at], size, reserved, bound)
        if page >= 0:
            found |= 1 << state_of[page]
            if state_of[page] == HELD and (owner_of[page] != tenure or tree_of[page] > 0):
                found |= FOREIGN
            start = page * size
    return found


@inlined
def use(
    event: Array,
    first: Array,
    second: Array,
    state_of: Array,
    owner_of: Array,
    tree_of: Array,
    size: int,
    reserved: int,
    bound: int,
    latest: Array,
    numbers: Array,
    codes: Array,
    owned: Array,
    now: Array,
) -> bool:
    """A forward, or a verify with its two lists of slots, that touches no page of the free list, none of another."""
    tenure = tenure_of(event, latest, numbers)
    if tenure < 0 or (numbers[tenure, life.STALE] and numbers[tenure, life.ALIVE]):
        return False
    written = seen_in(
        first, event[FIRST], event[END], tenure, state_of, owner_of, tree_of, size, reserved, bound
    )
    states = written | seen_in(
        second, event[A], event[B], tenure, state_of, owner_of, tree_of, size, reserved, bound
    )
    if states & (1 << FREE) or written & FOREIGN:
        return False
    whole = numbers[tenure, life.COMPLETE] or not numbers[tenure, life.ALIVE]
    known = not states & (1 << UNKNOWN)
    mark(codes, event[INDEX], PASS if known and whole else now[WHY])
    if event[FIRST] == event[END] or (event[ROW] == 0 and not event[FLAGS] & WITH_REQUEST):
        mark(owned, event[INDEX], SKIP)
    else:
        mark(owned, event[INDEX], now[WHY] if written & (1 << UNKNOWN) else PASS)
    if event[STEP] != NULL:
        now[USE_SEQ], now[USE_STEP] = event[SEQ], event[STEP]
    return True


@compiled
def stat(index: int, slots: Slots, book: Book, lives: Lives, codes: Codes, now: Array) -> bool:
    """A settled point at which nothing waits to be looked at but ends of requests."""
    if not now[QUIET] or now[OPEN_GROUPS] or not settle(slots, book, lives, now):
        return False
    if book.counts[UNKNOWN] != now[UNGRANTED]:
        mark(codes.totals_stat, index, now[WHY])
        return True
    mark(codes.totals_stat, index, PASS)
    codes.counted[0, index] = book.counts[FREE]
    codes.counted[1, index] = book.counts[TREE]
    codes.counted[2, index] = book.counts[SAVED]
    return True


@compiled
def left_out(table: int, index: int, codes: Codes) -> None:
    """An event that is no instance of any law."""
    if table == ALLOC:
        mark(codes.alias_alloc, index, SKIP)
    elif table == WRITE:
        mark(codes.alias_write, index, SKIP)
    elif table == FORWARD:
        mark(codes.dangling_forward, index, SKIP)
        mark(codes.owned_forward, index, SKIP)
    elif table == STAT:
        mark(codes.totals_stat, index, SKIP)
