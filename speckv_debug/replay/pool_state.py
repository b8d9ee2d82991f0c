"""What the pages of a pool are used for at the point that a ledger has reached: the page map of a viewer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from speckv_debug.kernels.reserve import pages_between
from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ledger_book import FREE, HELD, NOBODY, PageBook
from speckv_debug.replay.ledger_tenure import Tenure
from speckv_debug.replay.named_pages import NamedPages
from speckv_debug.replay.namespaces import COUNTED, SLOT_LIMIT
from speckv_debug.replay.ragged import Int64s, Mask

MOST_PAGES = SLOT_LIMIT
"""Pages of a map; a pool that says it has more is damaged, and only pages that were named are shown."""


class Use(IntEnum):
    """What a page is used for; where several apply, the last one listed."""

    UNKNOWN = 0
    """Not seen since the recording began or lost events."""
    FREE = 1
    """In the free list."""
    UNHELD = 2
    """Granted, and named by nothing that lives: on its way back, or leaked."""
    GRANTED = 3
    """Granted to a running request whose row does not name it (yet), or whose lengths are not known."""
    RESERVE = 4
    """Named by a running request's row, at positions from its committed length on."""
    COMMITTED = 5
    """Named by a running request's row below its committed length."""
    SESSION = 6
    """Saved by a session."""
    TREE = 7
    """Held by a node of the prefix tree; locks were not recorded."""
    EVICTABLE = 8
    """Held by a node of the prefix tree that no request locks."""
    LOCKED = 9
    """Held by a node of the prefix tree that a request keeps from eviction."""
    WAITING = 10
    """Freed inside a deferred group that has not ended."""
    TRANSFER = 11
    """Part of a transfer that has begun and not ended."""
    CONFLICT = 12
    """Named by the rows of two running requests though no tree holds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRequest:
    """A request that runs: lengths as the host reported them last, None if never; pages that its row names, None where
    not all that entered the row is recorded.
    """

    request: str | None
    row: int
    epoch: int
    committed: int | None
    allocated: int | None
    pages: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPages:
    """How the pages of one pool are used at one point.

    Attributes:
        pool, kind, page_size: Of the pool whose allocator hands out the ids.
        first: The first page that can be held; those before it are reserved.
        whole: Whether the pool's size is known, so that `use` has an entry for every page.
        use: int8[pages], the `Use` of page `first + i`.
        dangling: Pages that a running row names though they went to the free list since, ascending.
        why_unknown: Why pages are unknown, None where none is.
        held_as: Of a window's pool the one whose slots are mapped to its own: rows and tree name those, and who holds a page
            here follows from them.
    """

    pool: str
    kind: str
    page_size: int
    first: int
    whole: bool
    use: npt.NDArray[np.int8]
    dangling: tuple[int, ...] = ()
    why_unknown: str | None = None
    held_as: str | None = None

    @property
    def counts(self) -> Mapping[Use, int]:
        """Pages of each use."""
        found = np.bincount(self.use, minlength=len(Use))
        return {use: int(found[use]) for use in Use}

    def pages(self, use: Use) -> Int64s:
        """The pages of a use, ascending."""
        return np.flatnonzero(self.use == use).astype(np.int64) + self.first


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolState(PoolPages):
    """One pool at one point, with the ledger's own names of holders.

    Attributes:
        holder: int32[pages], the tenure that a page was granted to or whose row names it, -1 if none; an index into
            `Ledger.tenures`.
    """

    holder: npt.NDArray[np.int32]


def pool_states(ledger: Ledger) -> tuple[PoolState, ...]:
    """Every pool with an allocator of its own whose pages can be followed, the main one first.

    Not of counted pages: who holds one its references tell (`counted_state`).
    """
    numbers, spaces = [ledger.namespaces.main, *range(len(ledger.books))], ledger.namespaces.all
    followed = (n for n in dict.fromkeys(numbers) if ledger.books[n].paged and spaces[n].kind != COUNTED)
    return tuple(pool_state(ledger, n) for n in followed)


def pool_state(ledger: Ledger, number: int) -> PoolState:
    """The state of one allocator's pages, by its number in `ledger.namespaces`."""
    space, book = ledger.namespaces.all[number], ledger.books[number]
    main = book is ledger.main
    use, holder = _uses(ledger, book, main)
    first = pages_between(0, space.reserved, space.page_size)
    whole = space.bound != SLOT_LIMIT and space.bound // space.page_size <= MOST_PAGES
    if whole and (more := space.bound // space.page_size - len(use)) > 0:
        unseen = Use.FREE if main and ledger.seen_whole else Use.UNKNOWN
        use = np.concatenate((use, np.full(more, unseen, dtype=np.int8)))
        holder = np.concatenate((holder, np.full(more, NOBODY, dtype=np.int32)))
    if not main:
        use[use == Use.UNHELD] = Use.GRANTED  # no row and no tree ever names them: that tells nothing
    unknown = bool((use[first:] == Use.UNKNOWN).any())
    return PoolState(
        pool=space.name,
        kind=space.kind,
        page_size=space.page_size,
        first=first,
        whole=whole,
        use=use[first:],
        holder=holder[first:],
        dangling=_dangling(ledger) if main else (),
        why_unknown=(ledger.facts.why(ledger.why) if main else UNSEEN_PAGES) if unknown else None,
        held_as=ledger.namespaces.main_name if space.kind == "swa" and not main else None,
    )


UNSEEN_PAGES = "pages that were not granted yet: only the main pool is known to begin empty"


def live_requests(ledger: Ledger) -> tuple[LiveRequest, ...]:
    """The requests that run, by row."""
    running = sorted(ledger.running(), key=lambda tenure: tenure.row)
    return tuple(
        LiveRequest(
            request=tenure.request,
            row=tenure.row,
            epoch=tenure.epoch,
            committed=None if tenure.committed < 0 else tenure.committed,
            allocated=None if tenure.allocated < 0 else tenure.allocated,
            pages=_pages_of(ledger, tenure),
        )
        for tenure in running
    )


def _pages_of(ledger: Ledger, tenure: Tenure) -> int | None:
    """How many pages the row names; None where it may name more than the recording tells."""
    named = len(_named(tenure, tenure.extent))
    told = named > 0 or ledger.info.records("table_write")
    return named if told and tenure.complete else None


def _uses(ledger: Ledger, book: PageBook, main: bool) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int32]]:
    """Later ones take the place of earlier ones, in the order of `Use`."""
    use, holder = np.full(book.pages, Use.UNKNOWN, dtype=np.int8), book.owner.copy()
    out = book.state != FREE
    use[book.state == FREE], use[book.state == HELD] = Use.FREE, Use.UNHELD
    owned = (book.state == HELD) & (book.owner >= 0)
    owned[owned] = ledger.alive(book.owner[owned])
    use[owned] = Use.GRANTED
    shared = _rows(ledger, use, holder, out) if main else np.zeros(book.pages, dtype=np.bool_)
    in_tree = (book.tree > 0) | (book.host > 0)
    use[out & (book.session != NOBODY)] = Use.SESSION
    locks = ledger.info.records("cache", "lock")
    use[out & in_tree] = Use.EVICTABLE if locks else Use.TREE
    use[out & in_tree & (book.locks > 0)] = Use.LOCKED
    use[book.pending >= 0] = Use.WAITING
    use[book.moving > 0] = Use.TRANSFER
    if ledger.info.records("cache", "insert"):
        use[shared & (book.state == HELD) & ~in_tree & (book.moving == 0)] = Use.CONFLICT
    return use, holder


def _rows(ledger: Ledger, use: npt.NDArray[np.int8], holder: npt.NDArray[np.int32], out: Mask) -> Mask:
    """Mark what the rows of running requests name; which pages two of them do."""
    tenures = list(ledger.running())
    named = NamedPages.of(tenures)
    at = np.flatnonzero(out[named.page])
    owner, page = named.owner[at], named.page[at]
    nobodys = holder[page] == NOBODY
    ids = np.array([tenure.id for tenure in tenures], dtype=np.int32)
    holder[page[nobodys][::-1]] = ids[owner[nobodys]][::-1]  # of several the first
    silent = np.array([tenure.committed < 0 for tenure in tenures], dtype=np.bool_)
    level = np.where(named.kept[at], np.int8(Use.COMMITTED), np.int8(Use.RESERVE))
    np.maximum.at(use, page, np.where(silent[owner], np.int8(Use.GRANTED), level))
    return np.asarray(np.bincount(page[~named.stale[at]], minlength=len(use)) > 1, dtype=np.bool_)


def _named(tenure: Tenure, length: int) -> Int64s:
    """Pages that the row names below a position, ascending, each once."""
    pages = np.unique(tenure.entries[:length])
    return pages[pages >= 0]


def _dangling(ledger: Ledger) -> tuple[int, ...]:
    named = NamedPages.of([tenure for tenure in ledger.running() if tenure.stale])
    return tuple(np.unique(named.page[named.stale]).tolist())
