"""Events that nothing speaks against, folded by compiled code over the ledger's arrays.

Each handler does to the state what its namesake in `ledger_pages`, `ledger_rows`, `ledger_lengths` and `ledger_uses`
does, or returns False and has changed nothing: what is rare, or looks broken, is left to these. All handlers stand in
one file, since numba keeps compiled code until the file of the calling function changes.
"""

from __future__ import annotations

import numpy as np

from speckv_debug.replay import ledger_tenure as life
from speckv_debug.replay.compiling import Array, compiled, inlined
from speckv_debug.replay.ledger import OPEN_GROUPS, QUIET, UNGRANTED, USE_SEQ, USE_STEP, WHY
from speckv_debug.replay.ledger_arrays import (
    ACCEPT,
    ALLOC,
    ASK,
    END,
    EVICTS,
    FIRST,
    FLAGS,
    FORWARD,
    FREES,
    INDEX,
    LENGTHS,
    ROW,
    ROW_EPOCH,
    SEQ,
    SIMPLE,
    SPECIAL,
    STAT,
    STEP,
    TABLE,
    WITH_REQUEST,
    WITHOUT,
    WRITE,
    A,
    B,
    Book,
    Codes,
    Lives,
    Slots,
)  # fmt: skip
from speckv_debug.replay.ledger_book import FREE, HELD, NOBODY, SAVED, TREE, UNKNOWN
from speckv_debug.replay.ledger_facts import FAIL, PASS, SKIP
from speckv_debug.replay.ragged import NULL

FOREIGN = 1 << 8


@inlined
def page_of(slot: int, size: int, reserved: int, bound: int) -> int:
    """Page of a slot, -1 of a reserved or impossible one."""
    return slot // size if reserved <= slot < bound else -1


@inlined
def mark(codes: Array, index: int, code: int) -> None:
    """As `Facts.mark`."""
    if codes[index] != FAIL:
        codes[index] = code


@inlined
def tenure_of(event: Array, lives: Lives) -> int:
    """Whom the event belongs to; ASK where a life begins, wakes, gets its name, or is told by the name only."""
    row, named = event[ROW], event[FLAGS] & WITH_REQUEST
    if row < 0:
        return ASK if named else NOBODY
    tenure = lives.latest[row] if row < len(lives.latest) else NOBODY
    if tenure < 0 or lives.numbers[tenure, life.SAVED]:
        return ASK
    if event[ROW_EPOCH] != NULL and event[ROW_EPOCH] != lives.numbers[tenure, life.EPOCH]:
        return ASK
    return ASK if named and not lives.numbers[tenure, life.NAMED] else tenure


@inlined
def give(number: int, tenure: int, lives: Lives) -> None:
    """As `Tenure.was_given`."""
    lives.before[number] = lives.numbers[tenure, life.LAST]
    lives.numbers[tenure, life.LAST] = number


@compiled
def alloc(event: Array, slots: Array, book: Book, lives: Lives, codes: Codes, now: Array) -> bool:
    """Pages that nobody has go to a request that runs."""
    state_of, owner_of, tree_of = book.state, book.owner, book.tree
    host_of, pending_of, refs_of = book.host, book.pending, book.refs
    session_of, counts = book.session, book.counts
    size, reserved, bound = book.size, book.reserved, book.bound
    numbers, host = lives.numbers, (event[FLAGS] & SPECIAL) > 0
    tenure = tenure_of(event, lives)
    if tenure < 0 or numbers[tenure, life.STALE]:
        return False
    code = PASS
    for at in range(event[FIRST], event[END]):
        page = page_of(slots[at], size, reserved, bound)
        if page < 0:
            continue
        state, owner = state_of[page], owner_of[page]
        if state == UNKNOWN:
            code = now[WHY]
        others = owner != tenure and owner >= 0 and numbers[owner, life.ALIVE]
        if (state == FREE and refs_of[page] > 0) or (state == HELD and others) or session_of[page] != NOBODY:
            return False
    for at in range(event[FIRST], event[END]):
        page = page_of(slots[at], size, reserved, bound)
        if page >= 0:
            counts[state_of[page]] -= 1
            counts[HELD] += 1
            counts[TREE] += int(host) - int(tree_of[page] > 0 or host_of[page] > 0)
            state_of[page], owner_of[page], tree_of[page] = HELD, tenure, 0
            host_of[page], pending_of[page] = host, -1
    give(event[INDEX], tenure, lives)
    mark(codes.alias_alloc, event[INDEX], code)
    return True


@compiled
def table_write(event: Array, slots: Array, book: Book, lives: Lives, codes: Codes, now: Array) -> bool:
    """A row that runs names its own pages, or those of the tree at the tree's positions."""
    state_of, owner_of, tree_of = book.state, book.owner, book.tree
    tree_at_of, host_of, refs_of = book.tree_at, book.host, book.refs
    size, reserved, bound = book.size, book.reserved, book.bound
    numbers, slots_of, pages_of = lives.numbers, lives.slots, lives.pages
    tenure, start = tenure_of(event, lives), event[A]
    if tenure < 0 or numbers[tenure, life.STALE] or not numbers[tenure, life.ALIVE]:
        return False
    end = start + event[END] - event[FIRST]
    if end > numbers[tenure, life.ROOM]:
        return False
    base, extent = numbers[tenure, life.BASE], numbers[tenure, life.EXTENT]
    if not numbers[tenure, life.COMPLETE] and start < numbers[tenure, life.ALLOCATED]:
        return False
    for at in range(base + start, base + min(end, extent)):
        if slots_of[at] >= 0 and slots_of[at] != slots[event[FIRST] + at - base - start]:
            return False
    code = PASS
    for at in range(event[FIRST], event[END]):
        page = page_of(slots[at], size, reserved, bound)
        if page < 0:
            continue
        if state_of[page] == UNKNOWN:
            code = now[WHY]
        if tree_of[page] > 0 or host_of[page] > 0:
            due = start + at - event[FIRST] - slots[at] % size
            if tree_of[page] > 0 and tree_at_of[page] >= 0 and tree_at_of[page] != due:
                return False
        elif state_of[page] == HELD and owner_of[page] != tenure:
            return False
    for at in range(event[FIRST], event[END]):
        place, page = start + at - event[FIRST], page_of(slots[at], size, reserved, bound)
        if place < extent and pages_of[base + place] >= 0:
            refs_of[pages_of[base + place]] -= 1
        if page >= 0:
            refs_of[page] += 1
        slots_of[base + place], pages_of[base + place] = slots[at], page
    numbers[tenure, life.EXTENT] = max(extent, end)
    give(event[B], tenure, lives)
    mark(codes.alias_write, event[INDEX], code)
    return True


@compiled
def free(event: Array, slots: Array, book: Book, lives: Lives, codes: Codes, now: Array) -> bool:
    """Pages go back at once that nothing holds but the request that frees them."""
    state_of, tree_of, session_of = book.state, book.tree, book.session
    refs_of, seen_of = book.refs, book.seen
    size, reserved, bound = book.size, book.reserved, book.bound
    freer, index, code = tenure_of(event, lives), event[INDEX], PASS
    if now[OPEN_GROUPS] or event[A] != NULL or freer == ASK:
        return False
    for at in range(event[FIRST], event[END]):
        page = page_of(slots[at], size, reserved, bound)
        if page < 0:
            continue
        if seen_of[page] == index:
            if size == 1:
                return False
            continue
        seen_of[page] = index
        in_tree = tree_of[page] > 0 and not event[FLAGS] & EVICTS
        if state_of[page] == FREE or in_tree or session_of[page] != NOBODY or refs_of[page] > 0:
            return False
        if state_of[page] == UNKNOWN:
            code = now[WHY]
    if freer >= 0 and event[FLAGS] & SPECIAL and not tail_is_free(freer, index, book, lives):
        return False
    for at in range(event[FIRST], event[END]):
        page = page_of(slots[at], size, reserved, bound)
        if page >= 0:
            take_back(page, index, book)
    mark(codes.double_free, index, code)
    mark(codes.unsafe_free, index, code)
    return True


@compiled
def tail_is_free(freer: int, index: int, book: Book, lives: Lives) -> bool:
    """No position before the boundary of the tail lies in a page that the free names."""
    seen_of = book.seen
    slots_of, pages_of = lives.slots, lives.pages
    numbers = lives.numbers
    base = numbers[freer, life.BASE]
    for at in range(base, base + min(numbers[freer, life.TAIL], numbers[freer, life.EXTENT])):
        page = pages_of[at]
        if (page < 0 and slots_of[at] >= 0) or (page >= 0 and seen_of[page] == index):
            return False
    return True


@compiled
def take_back(page: int, index: int, book: Book) -> None:
    """As `PageBook.take_back`."""
    book.counts[book.state[page]] -= 1
    book.counts[FREE] += 1
    book.counts[TREE] -= int(book.tree[page] > 0 or book.host[page] > 0)
    book.state[page] = FREE
    book.owner[page] = book.session[page] = NOBODY
    book.tree[page] = book.host[page] = 0
    book.locks[page] = book.moving[page] = 0
    book.tree_at[page] = book.pending[page] = -1
    book.freed_by[page] = index


@inlined
def lengths(event: Array, book: Book, lives: Lives) -> bool:
    """The host's lengths; entries of a live row behind the allocated length are stale."""
    refs_of = book.refs
    slots_of, pages_of = lives.slots, lives.pages
    tenure = tenure_of(event, lives)
    if tenure < 0:
        return tenure == NOBODY
    numbers = lives.numbers[tenure]
    if event[FLAGS] & SPECIAL:
        numbers[life.TRIM_TO] = -1
    if event[A] != NULL:
        numbers[life.COMMITTED] = event[A]
    if event[B] == NULL:
        return True
    numbers[life.ALLOCATED] = event[B]
    length = max(event[B], 0)
    if numbers[life.ALIVE] and length < numbers[life.EXTENT]:
        for at in range(numbers[life.BASE] + length, numbers[life.BASE] + numbers[life.EXTENT]):
            if pages_of[at] >= 0:
                refs_of[pages_of[at]] -= 1
            slots_of[at] = pages_of[at] = -1
        numbers[life.EXTENT] = length
    return True


@inlined
def seen_in(slots: Array, first: int, end: int, tenure: int, book: Book) -> int:
    """Which states the pages of these slots are in: the sum of `1 << state` of those that occur.

    `FOREIGN` is one more bit: a page that is held, but not by this tenure alone.
    """
    state_of, owner_of, tree_of = book.state, book.owner, book.tree
    size, reserved, bound = book.size, book.reserved, book.bound
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
    book: Book,
    lives: Lives,
    codes: Array,
    owned: Array,
    now: Array,
) -> bool:
    """A forward, or a verify with its two lists of slots, that touches no page of the free list, none of another."""
    tenure, numbers = tenure_of(event, lives), lives.numbers
    if tenure < 0 or (numbers[tenure, life.STALE] and numbers[tenure, life.ALIVE]):
        return False
    written = seen_in(first, event[FIRST], event[END], tenure, book)
    states = written | seen_in(second, event[A], event[B], tenure, book)
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


@inlined
def stat(index: int, book: Book, codes: Codes, now: Array) -> bool:
    """A settled point at which nothing waits to be looked at."""
    if not now[QUIET] or now[OPEN_GROUPS]:
        return False
    if book.counts[UNKNOWN] != now[UNGRANTED]:
        mark(codes.totals_stat, index, now[WHY])
        return True
    mark(codes.totals_stat, index, PASS)
    codes.counted[0, index] = book.counts[FREE]
    codes.counted[1, index] = book.counts[TREE]
    codes.counted[2, index] = book.counts[SAVED]
    return True


@inlined
def handled(event: Array, slots: Slots, book: Book, lives: Lives, codes: Codes, now: Array) -> bool:
    """Whether the event was folded here."""
    table, flags = event[TABLE], event[FLAGS]
    if flags & WITHOUT:
        if table == ALLOC:
            mark(codes.alias_alloc, event[INDEX], SKIP)
        elif table == WRITE:
            mark(codes.alias_write, event[INDEX], SKIP)
        elif table == FORWARD:
            mark(codes.dangling_forward, event[INDEX], SKIP)
            mark(codes.owned_forward, event[INDEX], SKIP)
        elif table == STAT:
            mark(codes.totals_stat, event[INDEX], SKIP)
        return True
    if not flags & SIMPLE:
        return False
    if table == LENGTHS:
        return lengths(event, book, lives)
    if table == FORWARD:
        own = codes.owned_forward
        return use(event, slots.forward, slots.forward, book, lives, codes.dangling_forward, own, now)
    if table == ACCEPT:
        own = codes.owned_accept
        return use(event, slots.written, slots.table, book, lives, codes.dangling_accept, own, now)
    if table == ALLOC:
        return alloc(event, slots.alloc, book, lives, codes, now)
    if table == WRITE:
        return table_write(event, slots.write, book, lives, codes, now)
    if table == FREES:
        return free(event, slots.free, book, lives, codes, now)
    return table == STAT and stat(event[INDEX], book, codes, now)


@compiled
def fold(events: Array, at: int, slots: Slots, book: Book, lives: Lives, codes: Codes, now: Array) -> int:
    """Fold events from `at` on; the first that is left to others, or their number."""
    while at < len(events) and handled(events[at], slots, book, lives, codes, now):
        at += 1
    return at


@compiled
def given(
    last: int, before: Array, granted: Array, grants: Array, written: Array, writes: Array, *space: int
) -> Array:
    """The pages of the events that gave pages to a tenure, neighbours once: lists of slots and where each begins."""
    size, reserved, bound = space
    pages, count = np.empty(64, dtype=np.int64), 0
    while last >= 0:
        allocs = len(grants) - 1
        slots, offsets = (granted, grants) if last < allocs else (written, writes)
        index = last if last < allocs else last - allocs
        for at in range(offsets[index], offsets[index + 1]):
            page = page_of(slots[at], size, reserved, bound)
            if page < 0 or (count and pages[count - 1] == page):
                continue
            if count == len(pages):
                pages = np.concatenate((pages, np.empty_like(pages)))
            pages[count] = page
            count += 1
        last = before[last]
    return pages[:count]
