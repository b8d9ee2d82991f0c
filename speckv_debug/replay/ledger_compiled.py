"""Events that nothing speaks against, folded by compiled code over the ledger's arrays.

Each handler (`fold_rows`, `fold_pages`, `fold_uses`) does to the state what its namesake in `ledger_pages`, `ledger_rows`,
`ledger_lengths` and `ledger_uses` does, or returns False and has changed nothing that these would not have changed too: what
is rare, or looks broken, is left to them. `fold` takes the arrays out of their tuples once, without counting references,
since each look into one does.
"""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.compiling import Array, compiled, uncounted
from speckv_debug.replay.fold_pages import alloc, free, table_write
from speckv_debug.replay.fold_rows import lengths, row_alloc, row_end
from speckv_debug.replay.fold_tenures import page_of
from speckv_debug.replay.fold_uses import left_out, stat, use
from speckv_debug.replay.ledger_arrays import (
    ACCEPT,
    ALLOC,
    FLAGS,
    FORWARD,
    FREES,
    INDEX,
    LENGTHS,
    RELEASE,
    ROW_ALLOC,
    ROW_FREE,
    SIMPLE,
    STAT,
    TABLE,
    WITHOUT,
    WRITE,
    Book,
    Codes,
    Lives,
    Slots,
)


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
