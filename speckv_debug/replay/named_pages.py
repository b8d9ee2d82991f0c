"""Which pages the rows of running requests name, of all requests in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from speckv_debug.replay.ledger_tenure import Tenure
from speckv_debug.replay.ragged import Int64s, Mask

NOTHING = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class NamedPages:
    """n pairs of a request and a page that its row names in use, ascending, each once.

    Attributes:
        owner: int64[n], index of the request.
        page: int64[n].
        kept: bool[n], whether the page is named below the request's committed length.
        stale: bool[n], whether the page went to the free list while the row named it.
    """

    owner: Int64s
    page: Int64s
    kept: Mask
    stale: Mask

    @classmethod
    def of(cls, tenures: Sequence[Tenure]) -> NamedPages:
        """What the rows of these requests name."""
        rows = [tenure.entries for tenure in tenures]
        counts = np.array([len(row) for row in rows], dtype=np.int64)
        owner = np.repeat(np.arange(len(rows)), counts)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        owner, place, page = _each_once(owner, place, np.concatenate([NOTHING, *rows]))
        committed = np.array([tenure.committed for tenure in tenures], dtype=np.int64)
        stale = np.zeros(len(page), dtype=np.bool_)
        for at, tenure in enumerate(tenures):
            if tenure.stale:
                stale |= (owner == at) & np.isin(page, list(tenure.stale))
        return cls(owner, page, np.asarray(place < committed[owner], dtype=np.bool_), stale)


def _each_once(owner: Int64s, place: Int64s, page: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Each pair of owner and page at the first place that has it; neighbours in one page are put together first."""
    begun = np.ones(len(page), dtype=np.bool_)
    begun[1:] = (page[1:] != page[:-1]) | (owner[1:] != owner[:-1])
    at = np.flatnonzero(begun & (page >= 0))
    if not len(at):
        return NOTHING, NOTHING, NOTHING
    first = at[np.unique(owner[at] * (page.max() + 1) + page[at], return_index=True)[1]]
    return owner[first], place[first], page[first]
