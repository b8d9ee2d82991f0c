"""Lengths, releases and quiet points: what `lengths`, `release` and `pool_stat` do to the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.kernels.reserve import page_floor, pages_between, tail_start
from speckv_debug.replay.engine_version import aligns_tail_by_server_page
from speckv_debug.replay.ledger_book import FREE, UNKNOWN
from speckv_debug.replay.ledger_facts import FAIL, PASS, SKIP, UNSEEN, Broken, End
from speckv_debug.replay.ledger_rows import end_of, held, tenure_of
from speckv_debug.replay.ledger_tenure import Tenure
from speckv_debug.replay.ragged import NULL

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger

TRIM = "session_trim"
NO_QUIET = "the recording ends before everything that the request held has settled"
NO_BOUNDARY = "the release names no boundary, or the page size is unknown"


def lengths(ledger: Ledger, index: int) -> None:
    """The host's lengths; entries of a live row behind the allocated length are stale."""
    rows = ledger.events.rows["lengths"]
    pool = rows.texts("pool")[index]
    if pool is not None and pool != ledger.namespaces.main_name:
        return
    if (tenure := tenure_of(ledger, "lengths", index)) is None:
        return
    committed, allocated = rows.ints("committed")[index], rows.ints("allocated")[index]
    if rows.texts("cause")[index] == TRIM:
        tenure.trim_to = -1
    tenure.committed = tenure.committed if committed == NULL else committed
    if allocated == NULL:
        return
    tenure.allocated = allocated
    if tenure.alive:
        tenure.trim(ledger.main, allocated)


def release(ledger: Ledger, index: int) -> None:
    """A request ends, or a session trims its row."""
    if (tenure := tenure_of(ledger, "release", index)) is None:
        return ledger.facts.mark("unsafe", "release", index, ledger.facts.reason(NO_BOUNDARY))
    rows = ledger.events.rows["release"]
    keep = ledger.trims.kept(index) if rows.texts("kind")[index] == TRIM else rows.ints("committed")[index]
    start, allocated = rows.ints("free_start")[index], rows.ints("allocated")[index]
    size = _page_size(ledger, index)
    _judge_boundary(ledger, index, tenure, start, keep if rows.texts("kind")[index] == TRIM else NULL)
    due = tail_start(keep, size) if size and keep != NULL else -1
    tenure.tail = start if start != NULL else due
    if rows.texts("kind")[index] == TRIM:
        tenure.trim_to = keep if keep != NULL else -1
        return
    tenure.trim_to = -1
    if tenure.alive:
        tenure.allocated = tenure.allocated if allocated == NULL else allocated
        end_of(ledger, tenure, "release", index)


def pool_stat(ledger: Ledger, index: int) -> None:
    """A quiet point: what ended before it has settled."""
    pool = ledger.events.rows["pool_stat"].texts("pool")[index]
    if pool not in (None, ledger.namespaces.main_name):
        return ledger.facts.mark("totals", "pool_stat", index, SKIP)
    ledger.heads.settle(ledger)
    _leave_in_no_group(ledger, index)
    settle(ledger, ledger.unsettled)
    ledger.unsettled.clear()
    ledger.orphans.settle(ledger)
    _all_free(ledger, index)
    ledger.totals.count(ledger, index)


def _leave_in_no_group(ledger: Ledger, index: int) -> None:
    """Frees of a group that was not open, or that did not end, take no effect: nobody holds their pages, none is free."""
    if not ledger.info.records("free_group"):
        return
    step = ledger.events.rows["pool_stat"].ints("step")[index]
    for group in ledger.groups.left(step, stray=ledger.seen_whole):
        for book in ledger.books:
            pages = np.flatnonzero(book.pending == group)
            book.pending[pages] = -1
            if book is ledger.main:
                ledger.totals.doubt(pages)


def _all_free(ledger: Ledger, index: int) -> None:
    """What was unknown is free if the engine counts every slot as available (after a flush, or idle)."""
    stats = ledger.events.rows["pool_stat"]
    available, total = stats.ints("available")[index], stats.ints("total")[index]
    space = ledger.namespaces.all[ledger.namespaces.main]
    if available == total and total != NULL and total > 0 and space.paged:
        unknown = np.flatnonzero(ledger.main.state == UNKNOWN)
        ledger.main.put(unknown[unknown >= pages_between(0, space.reserved, space.page_size)], FREE)
        ledger.totals.whole = True


def finish(ledger: Ledger) -> None:
    """The recording ends: a launch of a later step shows that an earlier end has settled."""
    ledger.heads.finish(ledger)
    ledger.orphans.finish(ledger)
    use = ledger.latest_use
    for end in ledger.unsettled:
        later = use is not None and end.step is not None and use[0] > end.seq and use[1] > end.step
        if later and end.code == UNSEEN:
            settle(ledger, [end])
        elif end.code == UNSEEN:
            end.code = ledger.facts.reason(NO_QUIET)
    ledger.unsettled.clear()


def settle(ledger: Ledger, ends: list[End]) -> None:
    """Look at every page that these tenures ever held."""
    for end in ends:
        if end.code != UNSEEN:
            continue
        ledger.locks.settle(ledger, end)
        ledger.beside.leave(end)
        tenure = ledger.tenures[end.tenure]
        pages = held(ledger, tenure)
        lost = pages[ledger.main.unheld(pages, tenure.id)]
        end.pages = tuple(lost.tolist())
        ledger.totals.doubt(lost)
        whole = tenure.complete and not (ledger.main.state[pages] == UNKNOWN).any()
        end.code = FAIL if len(lost) else PASS if whole else ledger.why
        if not tenure.alive and not tenure.saved:
            tenure.forget(tenure.complete)


def settle_saved(ledger: Ledger, tenure: Tenure) -> None:
    """A session is restored: what its last turn left behind has settled, its frees came with the save."""
    settle(ledger, [end for end in ledger.unsettled if end.tenure == tenure.id])


def _page_size(ledger: Ledger, index: int) -> int:
    space = ledger.namespaces.all[ledger.namespaces.main]
    if space.paged:
        return space.page_size
    size = ledger.events.rows["release"].ints("page_size")[index]
    return size if size != NULL and size > 0 else 0


def _judge_boundary(ledger: Ledger, index: int, tenure: Tenure, start: int, keep: int) -> None:
    """`free_start` is a page boundary of the allocator, and not before what a trim keeps."""
    facts, size = ledger.facts, _page_size(ledger, index)
    allocated = ledger.events.rows["release"].ints("allocated")[index]
    if start == NULL or not size:
        return facts.mark("unsafe", "release", index, facts.reason(NO_BOUNDARY))
    facts.mark("unsafe", "release", index, PASS)
    if allocated != NULL and start >= allocated:
        return
    if start % size and not aligns_tail_by_server_page(ledger.info):
        ledger.heads.add(ledger, index, tenure, page_floor(start, size), start)
    elif keep != NULL and start < keep:
        _fail(ledger, index, tenure, "short", start, keep)


def _fail(ledger: Ledger, index: int, tenure: Tenure, way: str, first: int, end: int) -> None:
    pages = tenure.pages[max(first, 0) : max(0, min(end, tenure.extent))]
    named = tuple(np.unique(pages[pages >= 0]).tolist())
    broken = Broken(way=way, pages=named, other=tenure.id, positions=(first, end - 1))
    ledger.facts.fail("unsafe", "release", index, broken)
