"""Events that nothing speaks against, folded by compiled code over the ledger's arrays.

Each handler does to the state what its namesake in `ledger_pages`, `ledger_rows`, `ledger_lengths` and `ledger_uses`
does, or returns False and has changed nothing that these would not have changed too: what is rare, or looks broken, is
left to them. All handlers stand in one file, since numba keeps compiled code until the file of the calling function
changes; `fold` takes the arrays out of their tuples once, without counting references, since each look into one does.
"""

from __future__ import annotations

import numpy as np

from speckv_debug.replay import ledger_tenure as life
from speckv_debug.replay.compiling import Array, compiled, inlined, uncounted
from speckv_debug.replay.ledger import (
    BORN,
    ENDED,
    OPEN_GROUPS,
    QUIET,
    RESTORED,
    SETTLED,
    UNGRANTED,
    USE_SEQ,
    USE_STEP,
    WHY,
)
from speckv_debug.replay.ledger_arrays import (
    ACCEPT,
    ALLOC,
    ASK,
    END,
    END_CODE,
    END_INDEX,
    END_TABLE,
    END_TENURE,
    FIRST,
    FLAGS,
    FORWARD,
    FREES,
    INDEX,
    LENGTHS,
    RELEASE,
    ROW,
    ROW_ALLOC,
    ROW_EPOCH,
    ROW_FREE,
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
)
from speckv_debug.replay.ledger_book import FREE, HELD, NOBODY, SAVED, TREE, UNKNOWN
from speckv_debug.replay.ledger_facts import FAIL, PASS, SKIP, UNSEEN
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
def tenure_of(event: Array, latest: Array, numbers: Array) -> int:
    """Whom the event belongs to; ASK where a life begins, wakes, gets its name, or is told by the name only."""
    row, named = event[ROW], event[FLAGS] & WITH_REQUEST
    if row < 0:
        return ASK if named else NOBODY
    tenure = latest[row] if row < len(latest) else NOBODY
    if tenure < 0 or numbers[tenure, life.SAVED]:
        return ASK
    if event[ROW_EPOCH] != NULL and event[ROW_EPOCH] != numbers[tenure, life.EPOCH]:
        return ASK
    return ASK if named and not numbers[tenure, life.NAMED] else tenure


@inlined
def give(number: int, tenure: int, numbers: Array, before: Array) -> None:
    """As `Tenure.was_given`."""
    before[number] = numbers[tenure, life.LAST]
    numbers[tenure, life.LAST] = number


@compiled
def give_back(base: int, room: int, slots_of: Array, pages_of: Array, spare: Array) -> None:
    """As `TenureStore.give`."""
    if room:
        number = life.SMALLEST
        while (1 << number) < room:
            number += 1
        slots_of[base : base + room] = -1
        pages_of[base : base + room] = -1
        slots_of[base] = spare[number]
        spare[number] = base


@compiled
def make_room(end: int, tenure: int, numbers: Array, slots_of: Array, pages_of: Array, spare: Array) -> bool:
    """As `Tenure.make_room`; False where the arrays have to grow."""
    number = life.SMALLEST
    while (1 << number) < end:
        number += 1
    base, wanted = spare[number], 1 << number
    if base >= 0:
        spare[number] = slots_of[base]
        slots_of[base] = -1
    else:
        base = spare[life.USED]
        if base + wanted > len(slots_of):
            return False
        spare[life.USED] += wanted
    old, room = numbers[tenure, life.BASE], numbers[tenure, life.ROOM]
    slots_of[base : base + room] = slots_of[old : old + room]
    pages_of[base : base + room] = pages_of[old : old + room]
    give_back(old, room, slots_of, pages_of, spare)
    numbers[tenure, life.BASE], numbers[tenure, life.ROOM] = base, wanted
    return True


@inlined
def rest(tenure: int, numbers: Array, pages_of: Array, refs_of: Array) -> None:
    """As `Tenure.rest`, of one without stale pages."""
    if numbers[tenure, life.ALIVE]:
        base = numbers[tenure, life.BASE]
        for at in range(base, base + numbers[tenure, life.EXTENT]):
            if pages_of[at] >= 0:
                refs_of[pages_of[at]] -= 1
    numbers[tenure, life.ALIVE] = 0


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


@inlined
def alloc(
    event: Array,
    slots: Array,
    state_of: Array,
    owner_of: Array,
    tree_of: Array,
    host_of: Array,
    pending_of: Array,
    refs_of: Array,
    session_of: Array,
    counts: Array,
    size: int,
    reserved: int,
    bound: int,
    latest: Array,
    numbers: Array,
    before: Array,
    codes: Array,
    now: Array,
) -> bool:
    """Pages that nobody has go to a request that runs."""
    host, tenure = (event[FLAGS] & SPECIAL) > 0, tenure_of(event, latest, numbers)
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
        unfreed = state == HELD and owner != tenure and host_of[page] == 0
        if pending_of[page] >= 0 or unfreed:
            return False
    for at in range(event[FIRST], event[END]):
        page = page_of(slots[at], size, reserved, bound)
        if page >= 0:
            counts[state_of[page]] -= 1
            counts[HELD] += 1
            counts[TREE] += int(host) - int(tree_of[page] > 0 or host_of[page] > 0)
            state_of[page], owner_of[page], tree_of[page] = HELD, tenure, 0
            host_of[page], pending_of[page] = host, -1
    give(event[INDEX], tenure, numbers, before)
    mark(codes, event[INDEX], code)
    return True


@inlined
def table_write(
    event: Array,
    slots: Array,
    state_of: Array,
    owner_of: Array,
    tree_of: Array,
    tree_at_of: Array,
    host_of: Array,
    refs_of: Array,
    size: int,
    reserved: int,
    bound: int,
    latest: Array,
    numbers: Array,
    slots_of: Array,
    pages_of: Array,
    before: Array,
    spare: Array,
    codes: Array,
    now: Array,
) -> bool:
    """A row that runs names its own pages, or those of the tree at the tree's positions."""
    tenure, start = tenure_of(event, latest, numbers), event[A]
    if tenure < 0 or numbers[tenure, life.STALE] or not numbers[tenure, life.ALIVE]:
        return False
    end, extent = start + event[END] - event[FIRST], numbers[tenure, life.EXTENT]
    if not numbers[tenure, life.COMPLETE] and start < numbers[tenure, life.ALLOCATED]:
        return False
    base = numbers[tenure, life.BASE]
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
        elif state_of[page] == FREE or (state_of[page] == HELD and owner_of[page] != tenure):
            return False
    if end > numbers[tenure, life.ROOM] and not make_room(end, tenure, numbers, slots_of, pages_of, spare):
        return False
    base = numbers[tenure, life.BASE]
    for at in range(event[FIRST], event[END]):
        place, page = start + at - event[FIRST], page_of(slots[at], size, reserved, bound)
        if place < extent and pages_of[base + place] >= 0:
            refs_of[pages_of[base + place]] -= 1
        if page >= 0:
            refs_of[page] += 1
        slots_of[base + place], pages_of[base + place] = slots[at], page
    numbers[tenure, life.EXTENT] = max(extent, end)
    give(event[B], tenure, numbers, before)
    mark(codes, event[INDEX], code)
    return True


@compiled
def free(event: Array, slots: Array, book: Book, lives: Lives, codes: Codes, now: Array) -> bool:
    """Pages go back at once that nothing holds but the request that frees them."""
    state_of, tree_of, session_of = book.state, book.tree, book.session
    refs_of, seen_of = book.refs, book.seen
    size, reserved, bound = book.size, book.reserved, book.bound
    freer, index, code = tenure_of(event, lives.latest, lives.numbers), event[INDEX], PASS
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
        if state_of[page] == FREE or tree_of[page] > 0 or session_of[page] != NOBODY or refs_of[page] > 0:
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


@compiled
def fold(
    stretch: Array, at: int, slots: Slots, book: Book, lives: Lives, codes: Codes, numbers_now: Array
) -> int:
    """Fold events from `at` on; the first that is left to others, or their number."""
    state, owner, tree, tree_at = (
        uncounted(book.state), uncounted(book.owner), uncounted(book.tree), uncounted(book.tree_at)
    )  # fmt: skip
    host, pending, refs, session = (
        uncounted(book.host), uncounted(book.pending), uncounted(book.refs), uncounted(book.session)
    )  # fmt: skip
    counts, size, reserved, bound = uncounted(book.counts), book.size, book.reserved, book.bound
    latest, numbers, before, spare = (
        uncounted(lives.latest), uncounted(lives.numbers), uncounted(lives.before), uncounted(lives.spare)
    )  # fmt: skip
    held, pages, ended = uncounted(lives.slots), uncounted(lives.pages), uncounted(lives.ended)
    granted, wrote, forwarded = uncounted(slots.alloc), uncounted(slots.write), uncounted(slots.forward)
    written, entries = uncounted(slots.written), uncounted(slots.table)
    alias_alloc, alias_write = uncounted(codes.alias_alloc), uncounted(codes.alias_write)
    unsafe, by_forward = uncounted(codes.unsafe_release), uncounted(codes.dangling_forward)
    own_forward, by_accept = uncounted(codes.owned_forward), uncounted(codes.dangling_accept)
    own_accept, events, now = uncounted(codes.owned_accept), uncounted(stretch), uncounted(numbers_now)
    while at < len(events):
        event = events[at]
        table, flags, done = event[TABLE], event[FLAGS], False
        if flags & WITHOUT:
            left_out(table, event[INDEX], codes)
            done = True
        elif not flags & SIMPLE:
            done = False
        elif table == LENGTHS:
            done = lengths(event, refs, latest, numbers, held, pages)
        elif table == FORWARD:
            done = use(
                event, forwarded, forwarded, state, owner, tree, size, reserved, bound, latest, numbers,
                by_forward, own_forward, now,
            )  # fmt: skip
        elif table == ACCEPT:
            done = use(
                event, written, entries, state, owner, tree, size, reserved, bound, latest, numbers,
                by_accept, own_accept, now,
            )  # fmt: skip
        elif table == ALLOC:
            done = alloc(
                event, granted, state, owner, tree, host, pending, refs, session, counts, size, reserved,
                bound, latest, numbers, before, alias_alloc, now,
            )  # fmt: skip
        elif table == WRITE:
            done = table_write(
                event, wrote, state, owner, tree, tree_at, host, refs, size, reserved, bound, latest, numbers,
                held, pages, before, spare, alias_write, now,
            )  # fmt: skip
        elif table == ROW_ALLOC:
            done = row_alloc(event, latest, numbers, held, pages, spare, refs, now)
        elif table in (ROW_FREE, RELEASE):
            done = row_end(event, latest, numbers, pages, refs, ended, unsafe, now)
        elif table == FREES:
            done = free(event, slots.free, book, lives, codes, now)
        elif table == STAT:
            done = stat(event[INDEX], slots, book, lives, codes, now)
        if not done:
            return at
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
