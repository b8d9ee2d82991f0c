"""Owner and state of every page of a pool at any `seq`: what viewers draw as a map, one cell a page or many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from speckv_debug.errors import UsageError
from speckv_debug.model.process import Process
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.holders import PageHolders, holders_of
from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ledger_book import NOBODY
from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.page_blocks import gathered
from speckv_debug.replay.pool_series import follows_holders
from speckv_debug.replay.pool_state import PoolPages, PoolState, Use, pool_state
from speckv_debug.replay.timeline import Timeline

CONSPICUOUS = (Use.UNHELD, Use.CONFLICT)
"""Uses that a cell of many pages shows even if only one of these pages is used so, the last of them first."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A life of a request row: whom a page was granted to, or whose row names it."""

    request: str | None
    row: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMap(PoolPages):
    """One pool after event `seq`; nothing in it changes when the ledger goes on.

    Attributes:
        holder: int32[pages], index into `holders`, -1 where a page has none.
        holders: The lives that occur in `holder`, in the order in which they began.
    """

    seq: int
    holder: npt.NDArray[np.int32]
    holders: tuple[Holder, ...]

    def __len__(self) -> int:
        return len(self.use)

    def holder_of(self, page: int) -> Holder | None:
        """Of a page by its number in the pool."""
        at = int(self.holder[page - self.first])
        return None if at == NOBODY else self.holders[at]


def followed_pools(info: Process) -> tuple[str, ...]:
    """Pools whose pages can be followed, the main one first; one that has its ids from another is not named."""
    spaces = Namespaces(info)
    order = dict.fromkeys([spaces.main, *range(len(spaces.all))])
    return tuple(spaces.all[number].name for number in order if spaces.all[number].paged)


class PageMaps:
    """The maps of one process, at any `seq`, forwards and backwards; folds on from the nearest checkpoint."""

    def __init__(self, process: ProcessRecording) -> None:
        self._process = process
        self._timeline: Timeline | None = None

    @property
    def pools(self) -> tuple[str, ...]:
        """Pools whose pages can be followed, the main one first."""
        return followed_pools(self._process.info)

    @property
    def timeline(self) -> Timeline:
        """As `read`, for who tells nobody how far it is."""
        return self.read()

    def read(self, on_progress: Callable[[float], None] = lambda share: None) -> Timeline:
        """Made when it is first needed: it reads the tables that move pages about, which takes seconds of a long recording."""
        if self._timeline is None:
            self._timeline = Timeline(self._process, on_progress=on_progress)
        return self._timeline

    def at(
        self, seq: int, pool: str | None = None, on_progress: Callable[[float], None] = lambda share: None
    ) -> PageMap:
        """The map of a pool (the main one if None) after all recorded events up to `seq`.

        Where it can't be known who holds a page, one that is out is `GRANTED`, never held by nobody.

        Raises:
            UsageError: There is no such pool, or its pages can't be followed.
        """
        number = self._number(pool)
        ledger = self.timeline.at(seq, on_progress)
        found = page_map(ledger, pool_state(ledger, number), seq)
        if not follows_holders(self._process, found.pool):
            found.use[found.use == Use.UNHELD] = Use.GRANTED
        return found

    def holders(self, seq: int, page: int, pool: str | None = None) -> PageHolders:
        """Everybody who holds one page then, which may be several."""
        self._number(pool)
        return holders_of(self.timeline.at(seq), pool, page)

    def _number(self, pool: str | None) -> int:
        """The allocator of a pool, by its number among all."""
        spaces, known = Namespaces(self._process.info), self.pools
        name = spaces.main_name if pool is None else pool
        if name not in known and name not in {each.name for each in self._process.info.pools}:
            raise UsageError(
                f"there is no pool {name} in {self._process.label}", f"Known: {', '.join(known)}."
            )
        number = spaces.index(name)
        if not spaces.all[number].paged:
            raise UsageError(
                f"the pages of pool {name} can't be followed", f"Those of {', '.join(known)} can."
            )
        return number


def page_map(ledger: Ledger, state: PoolState, seq: int) -> PageMap:
    """A pool's state with the ledger's tenures put into words."""
    tenures, holder = np.unique(state.holder, return_inverse=True)
    has_none = int(len(tenures) > 0 and tenures[0] == NOBODY)
    named = [ledger.tenures[number] for number in tenures[has_none:].tolist()]
    return PageMap(
        **{field.name: getattr(state, field.name) for field in fields(PoolPages)},
        seq=seq,
        holder=(holder.reshape(-1) - has_none).astype(np.int32),
        holders=tuple(Holder(each.request, each.row, each.epoch) for each in named),
    )


@dataclass(frozen=True, slots=True)
class Cells:
    """A map with `per` pages to a cell; the last cell may stand for fewer.

    Attributes:
        use: int8[cells], the `Use` that a cell shows: a conspicuous one if any page has it, else that of most pages.
        holder: int32[cells], index into `PageMap.holders` if all pages of that use in the cell have this one, else -1.
        mixed: bool[cells], whether the cell has pages of another use too.
    """

    per: int
    use: npt.NDArray[np.int8]
    holder: npt.NDArray[np.int32]
    mixed: npt.NDArray[np.bool_]


def cells(found: PageMap, per: int) -> Cells:
    """Gather `per` >= 1 neighbouring pages to a cell."""
    if per == 1 or not len(found):
        return Cells(per, found.use, found.holder, np.zeros(len(found), dtype=np.bool_))
    starts = np.arange(0, len(found), per)
    counts, shown = gathered(found.use, per, CONSPICUOUS)
    asks = found.use == np.repeat(shown, per)[: len(found)]
    least = np.minimum.reduceat(np.where(asks, found.holder, np.iinfo(np.int32).max), starts)
    most = np.maximum.reduceat(np.where(asks, found.holder, NOBODY), starts)
    return Cells(
        per,
        shown,
        np.where(least == most, most, NOBODY).astype(np.int32),
        (counts > 0).sum(axis=1) > 1,
    )
