"""Who holds one page at the point that a ledger has reached, for people to read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ledger_book import FREE, NOBODY, UNKNOWN
from speckv_debug.replay.ragged import Int64s


@dataclass(frozen=True, slots=True, kw_only=True)
class RowHolder:
    """A running request whose row names the page at positions `[start, end)`."""

    row: int
    epoch: int
    request: str | None
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PageHolders:
    """The holders of one page.

    Attributes:
        free: Whether it is in the free list; None if it was not seen since events were lost or the recording began.
        owner: Request that it was last granted to, None if that is not known or has changed.
        tree, locked: A node of the prefix tree holds it; a request keeps the node from eviction.
        session: Request whose session saved it.
        in_flight: A transfer has begun and not ended.
        pending: Deferred free group in which it waits.
    """

    pool: str
    page: int
    free: bool | None
    rows: tuple[RowHolder, ...] = ()
    owner: str | None = None
    tree: bool = False
    locked: bool = False
    session: str | None = None
    in_flight: bool = False
    pending: int | None = None


def holders_of(ledger: Ledger, pool: str | None, page: int) -> PageHolders:
    """Who holds a page of a pool; a page that no event named has no holder and is not known to be free."""
    space = ledger.namespaces.index(pool)
    name, book = ledger.namespaces.all[space].name, ledger.books[space] if space < len(ledger.books) else None
    if book is None or not 0 <= page < book.pages:
        return PageHolders(pool=name, page=page, free=True if ledger.seen_whole else None)
    state, group = int(book.state[page]), int(book.pending[page])
    return PageHolders(
        pool=name,
        page=page,
        free=None if state == UNKNOWN else state == FREE,
        rows=_rows(ledger, page) if book is ledger.main else (),
        owner=_request(ledger, int(book.owner[page])),
        tree=bool(book.tree[page] or book.host[page]),
        locked=bool(book.locks[page] > 0),
        session=_request(ledger, int(book.session[page])),
        in_flight=bool(book.moving[page] > 0),
        pending=None if group < 0 else group,
    )


def free_pages(ledger: Ledger, pool: str | None = None) -> Int64s:
    """Pages that are known to be in the free list, ascending."""
    return np.flatnonzero(ledger.books[ledger.namespaces.index(pool)].state == FREE).astype(np.int64)


def row_slots(ledger: Ledger, row: int) -> Int64s:
    """req_to_token[row] as its latest life left it, up to the last position in use; -1 where never written."""
    tenure = ledger.rows.get(row)
    return np.empty(0, dtype=np.int64) if tenure is None else tenure.slots[: tenure.extent].copy()


def _rows(ledger: Ledger, page: int) -> tuple[RowHolder, ...]:
    found = []
    for tenure in ledger.running():
        positions = tenure.positions(np.array([page]))
        if len(positions):
            start, end = int(positions[0]), int(positions[-1]) + 1
            holder = RowHolder(
                row=tenure.row, epoch=tenure.epoch, request=tenure.request, start=start, end=end
            )
            found.append(holder)
    return tuple(sorted(found, key=lambda holder: holder.row))


def _request(ledger: Ledger, tenure: int) -> str | None:
    return None if tenure == NOBODY else ledger.tenures[tenure].request
