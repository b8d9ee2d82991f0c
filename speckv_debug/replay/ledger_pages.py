"""Pages granted and taken back: what `alloc`, `free` and `free_group` do to the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.replay.ledger_beside import BESIDE, UNPAGED
from speckv_debug.replay.ledger_book import FREE, HELD, NOBODY, UNKNOWN, PageBook
from speckv_debug.replay.ledger_facts import FAIL, PASS, SKIP, UNSEEN, Broken
from speckv_debug.replay.ledger_groups import GROUPLESS
from speckv_debug.replay.ledger_rows import tenure_of
from speckv_debug.replay.ledger_safety import judge_safety
from speckv_debug.replay.ledger_tenure import Tenure
from speckv_debug.replay.namespaces import COUNTED
from speckv_debug.replay.ragged import NULL, Int64s

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger

ROLLED_BACK = "the page was granted and rolled back, and not seen since"


def alloc(ledger: Ledger, index: int) -> None:
    """Pages leave the free list; the request that they go to holds them."""
    rows = ledger.events.slots["alloc"]
    if rows.ints("granted")[index] == 0 or not rows.count(index):
        if rows.ints("granted")[index] != 0:
            ledger.need_slots("alloc", index)
        return ledger.facts.mark("alias", "alloc", index, SKIP)
    book, pages = ledger.books[int(rows.namespace[index])], rows.pages(index)
    if book is not ledger.main:
        ledger.beside.settle(ledger.seq)
    reason = rows.texts("reason")[index]
    if reason == "rollback":  # undone without a free
        ledger.facts.mark("alias", "alloc", index, SKIP)
        ledger.why = ledger.facts.reason(ROLLED_BACK) if ledger.seen_whole else ledger.why
        return book.disown(pages)
    tenure = tenure_of(ledger, "alloc", index)
    _judge_early(ledger, index, book, pages)
    if book is ledger.main:
        _judge_grant(ledger, index, pages, tenure)
        if tenure is not None and tenure.stale:
            tenure.stale = tenure.stale.difference(pages.tolist())
    else:
        followed = book.paged and ledger.namespaces.all[int(rows.namespace[index])].kind != COUNTED
        ledger.facts.mark("alias", "alloc", index, ledger.facts.reason(BESIDE) if followed else SKIP)
    book.grant(pages, NOBODY if tenure is None else tenure.id, host=reason == "load_back")
    if tenure is not None and book is ledger.main:
        tenure.was_given(ledger.events.giving("alloc", index))


def free(ledger: Ledger, index: int) -> None:
    """Pages go back, at once or at the end of their group."""
    rows = ledger.events.slots["free"]
    if not rows.count(index):
        ledger.need_slots("free", index)
        ledger.facts.mark("double", "free", index, SKIP)
        return ledger.facts.mark("unsafe", "free", index, SKIP)
    book, pages = ledger.books[int(rows.namespace[index])], rows.pages(index)
    if book is not ledger.main:
        ledger.beside.settle(ledger.seq)
    group = _group_of(ledger, index, book)
    unique, counts = np.unique(pages, return_counts=True)
    if ledger.namespaces.all[rows.namespace[index]].page_size == 1:
        _judge_again(ledger, index, unique[counts > 1], "itself")
        if group is not None:
            _judge_again(ledger, index, unique[book.pending[unique] == group], "group")
    if group is None:
        return _take_back(ledger, index, unique)
    book.pending[unique] = group
    ledger.groups.add(group, index)
    if rows.ints("group")[index] == NULL and not ledger.groups.nameless:
        ledger.groups.unsure.add(index)


def _group_of(ledger: Ledger, index: int, book: PageBook) -> int | None:
    """The group that a free waits in. Where frees name theirs, the allocator of a pool beside the main one has none unless
    its free names one: counted pages of C128 go back at once, whatever group of the main pool is open.
    """
    named = ledger.events.slots["free"].ints("group")[index]
    at_once = named == NULL and book is not ledger.main and not ledger.groups.nameless
    return None if at_once else ledger.groups.of(named)


def free_group(ledger: Ledger, index: int) -> None:
    """A group begins, or its frees take effect."""
    rows = ledger.events.rows["free_group"]
    group = rows.ints("group")[index]
    if rows.texts("action")[index] == "begin":
        return ledger.groups.begin(group, rows.ints("step")[index])
    for waiting in ledger.groups.end(group if group != NULL else ledger.groups.of(group) or NULL):
        frees = ledger.events.slots["free"]
        pages = np.unique(frees.pages(waiting))
        book = ledger.books[frees.namespace[waiting]]
        _take_back(ledger, waiting, pages[book.pending[pages] == group])
    ledger.heads.settle(ledger)


def _take_back(ledger: Ledger, index: int, pages: Int64s) -> None:
    """A free takes effect on pages that no other free of its group has returned already."""
    rows = ledger.events.slots["free"]
    book, facts = ledger.books[int(rows.namespace[index])], ledger.facts
    if book is not ledger.main:
        ledger.beside.settle(ledger.seq)
    state = book.state[pages]
    if not book.paged:
        code = facts.reason(UNPAGED)
    else:
        _judge_again(ledger, index, pages[state == FREE], "again")
        code = ledger.why if (state == UNKNOWN).any() else PASS
        code = facts.reason(GROUPLESS) if index in ledger.groups.unsure else code
    facts.mark("double", "free", index, code)
    if book is ledger.main:
        judge_safety(ledger, index, pages[state != FREE], code)
    else:
        facts.mark("unsafe", "free", index, SKIP)
    book.take_back(pages, index)


def _judge_again(ledger: Ledger, index: int, pages: Int64s, way: str) -> None:
    if len(pages) and ledger.books[ledger.events.slots["free"].namespace[index]].paged:
        ledger.facts.fail("double", "free", index, Broken(way=way, pages=tuple(pages.tolist())))


def _judge_early(ledger: Ledger, index: int, book: PageBook, pages: Int64s) -> None:
    """A page is granted while its free waits for the end of a group: it was not in the free list."""
    waiting = pages[book.pending[pages] >= 0]
    granted = ledger.events.slots["alloc"].ints("seq")[index]
    for page in waiting.tolist() if book.paged and ledger.info.records("free_group") else ():
        for free in ledger.groups.waiting.get(int(book.pending[page]), ()):
            if page in ledger.events.slots["free"].pages(free):
                broken = Broken(way="early", pages=(page,), at=(granted, None))
                ledger.facts.fail("double", "free", free, broken)


def _judge_grant(ledger: Ledger, index: int, pages: Int64s, tenure: Tenure | None) -> None:
    """Two hold a page if it is granted while another request or the tree has it."""
    book, state = ledger.main, ledger.main.state[pages]
    ledger.facts.mark("alias", "alloc", index, ledger.why if (state == UNKNOWN).any() else PASS)
    if tenure is None:
        return
    owner = book.owner[pages]
    held = (state == HELD) & (owner != tenure.id) & (owner >= 0) & ledger.alive(owner)
    named = (state == FREE) & (book.refs[pages] > 0)
    unfreed = book.unkept(pages) & (owner != tenure.id) & ~held
    if unfreed.any() and ledger.seen_whole:
        _judge_unfreed(ledger, index, np.unique(pages[unfreed]))
    treed = (
        (state == HELD) & (book.tree[pages] > 0) & (book.pending[pages] < 0) & (owner != tenure.id) & ~held
    )
    treed &= ~np.isin(pages, list(ledger.parts))
    if treed.any() and ledger.seen_whole:
        kept = tuple(np.unique(pages[treed]).tolist())
        ledger.facts.fail("alias", "alloc", index, Broken(way="from_tree", pages=kept))
    if held.any():
        other, clash = ledger.tenures[int(owner[held][0])], pages[held]
        ledger.facts.fail("alias", "alloc", index, overlap("granted", other, clash))
    elif named.any():
        for other in ledger.running():
            if other is not tenure and len(other.positions(pages[named])):
                ledger.facts.fail("alias", "alloc", index, overlap("granted", other, pages[named]))


def _judge_unfreed(ledger: Ledger, index: int, pages: Int64s) -> None:
    """Pages are granted that nobody holds, and that did not go back since they were granted before."""
    ended = {end.tenure: end for end in ledger.unsettled if end.code in (UNSEEN, FAIL)}
    owners = ledger.main.owner[pages]
    for owner in np.unique(owners).tolist():
        left = tuple(pages[owners == owner].tolist())
        if (end := ended.get(owner)) is not None:
            end.code, end.pages = FAIL, (*end.pages, *left)
        else:
            ledger.facts.fail("alias", "alloc", index, Broken(way="unfreed", pages=left))


def overlap(way: str, other: Tenure, pages: Int64s) -> Broken:
    """Pages that another tenure holds too, and its positions in them."""
    positions = other.positions(pages)
    ends = (int(positions[0]), int(positions[-1])) if len(positions) else None
    return Broken(way=way, pages=tuple(pages.tolist()), other=other.id, positions=ends)
