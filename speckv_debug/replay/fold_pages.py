"""Grants, writes into rows and frees of pages: compiled handlers of `ledger_compiled`."""

from __future__ import annotations

from speckv_debug.replay import ledger_tenure as life
from speckv_debug.replay.compiling import Array, compiled, inlined
from speckv_debug.replay.fold_tenures import give, make_room, mark, page_of, tenure_of
from speckv_debug.replay.ledger import OPEN_GROUPS, WHY
from speckv_debug.replay.ledger_arrays import ASK, END, FIRST, FLAGS, INDEX, SPECIAL, A, B, Book, Codes, Lives
from speckv_debug.replay.ledger_book import FREE, HELD, NOBODY, TREE, UNKNOWN
from speckv_debug.replay.ledger_facts import PASS
from speckv_debug.replay.ragged import NULL


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
