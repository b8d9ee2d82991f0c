"""How many pages are free, held by the tree and by sessions at each settled point, and which have no holder left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.kernels.reserve import pages_between
from speckv_debug.replay.ledger_book import FREE, HELD, NOBODY, SAVED, TREE, UNKNOWN
from speckv_debug.replay.ledger_facts import PASS
from speckv_debug.replay.ragged import NULL, Int64s

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger

COUNTED = (FREE, TREE, SAVED)
"""The rows of `Totals.counted`."""
IN_GROUP = "the pool was counted while a free group was open"


class Totals:
    """The main pool at each pool_stat.

    Attributes:
        whole: Pages that no event names are known to be free.
        counted: int64[3, pool_stats], pages that are free, that the tree holds, and that only a session holds.
        lost: By pool_stat, the pages that nobody holds and that are not free; absent where there are none.
        doubtful: Pages that lost a holder and may have none left.
        turns: Requests whose session went on before the events that are folded now, and that have not ended.
        waiting: By pool_stat, the pages that waited for the end of a free group; absent where none was open.
    """

    def __init__(self, stats: int) -> None:
        self.whole = False
        self.turns: set[str | None] = set()
        self.waiting: dict[int, int] = {}
        self.counted = np.full((len(COUNTED), stats), NULL, dtype=np.int64)
        self.lost: dict[int, tuple[int, ...]] = {}
        self.doubtful: list[Int64s] = []

    def take(self, stats: int, turns: set[str | None]) -> None:
        """Go on with so many pool_stats of a later window; the turns of sessions that run when it begins."""
        self.turns = turns
        self.counted, self.lost = np.full((len(COUNTED), stats), NULL, dtype=np.int64), {}
        self.waiting = {}

    def doubt(self, pages: Int64s) -> None:
        """These pages lost a holder: the next settled point shows whether another one has them."""
        if len(pages):
            self.doubtful.append(pages)

    def lose(self) -> None:
        """Events are missing."""
        self.whole = False
        self.doubtful.clear()

    def count(self, ledger: Ledger, index: int) -> None:
        """Take the figures of a settled point."""
        self._look_for_lost(ledger, index)
        if not known(ledger):
            why = ledger.facts.reason(IN_GROUP) if ledger.groups else ledger.why
            return ledger.facts.mark("totals", "pool_stat", index, why)
        self.counted[:, index] = ledger.main.counts[list(COUNTED)]
        if ledger.groups:
            book = ledger.main
            self.waiting[index] = int(np.count_nonzero((book.pending >= 0) & (book.state == HELD)))
            return ledger.facts.mark("totals", "pool_stat", index, ledger.facts.reason(IN_GROUP))
        ledger.facts.mark("totals", "pool_stat", index, PASS)

    def _look_for_lost(self, ledger: Ledger, index: int) -> None:
        if not self.doubtful:
            return
        pages, book = np.unique(np.concatenate(self.doubtful)), ledger.main
        owner = book.owner[pages]
        lost = pages[book.unkept(pages) & ((owner == NOBODY) | ~ledger.alive(owner))]
        self.doubtful[:] = [lost] if len(lost) else []
        if len(lost):
            self.lost[index] = tuple(lost.tolist())


def known(ledger: Ledger) -> bool:
    """Whether it is known of every page who holds it."""
    return int(ledger.main.counts[UNKNOWN]) == ungranted(ledger)


def ungranted(ledger: Ledger) -> int:
    """Pages of which nothing is known where all is known: the dummy's; NULL while any other may be among them."""
    if not ledger.totals.whole:
        return NULL
    space = ledger.namespaces.all[ledger.namespaces.main]
    return min(ledger.main.pages, pages_between(0, space.reserved, space.page_size))
