"""What OWN-CONSERVE looks at: the engine's figures of the main pool beside the ledger's, and the locks of the tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from speckv_debug.kernels.reserve import pages_between
from speckv_debug.replay.engine_version import counts_turns_as_sessions
from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ledger_facts import FAIL, PASS
from speckv_debug.replay.ownership import EventFacts
from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask

FIGURES = ("available", "evictable", "protected", "session", "total")
UNTOLD = "a pool_stat does not tell all of its figures"
MOVING = "the pool's total is not the size that the process declares"
SHARING = ("swa", "mamba")
SHARED = "the pools of a hybrid model may share their memory: how much is available moves with the other pool"
OTHER_UNITS = "under decode context parallelism the tree counts in other units than the allocator"
REASONS = (UNTOLD, MOVING, SHARED, OTHER_UNITS)
"""Why a sum can't be judged though the ledger knows its own figures, in the order in which they are asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolTotal:
    """One settled point, in slots.

    Attributes:
        told: The engine's figures by their names; `session` None where it can't be compared.
        free, tree, session: What the ledger knows.
        running: The rest: running requests and transfers.
        missing: What the engine's sum lacks; negative if it counts too many.
        lost: Pages that nobody holds and that are not free.
        suspects: Pages that were freed, granted, named or used against a law before.
    """

    told: dict[str, int | None]
    free: int
    tree: int
    session: int
    running: int
    missing: int
    lost: tuple[int, ...]
    suspects: tuple[int, ...]


class PoolTotals(EventFacts):
    """One instance a settled point, and one a lock and unlock of the prefix tree.

    A settled point: available, evictable, protected and session slots, those of running requests, and the pool's size.

    The engine tells the first four; whose the rest is the ledger knows. What a session's pages are called while a turn
    runs differs (SGLang 0.5.22 and later count them as the session's): once a session went on, and there while any request
    runs, the ledger's figure counts.
    """

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger, "totals")
        columns = ledger.events.rows["pool_stat"].columns
        self._points = np.flatnonzero(self._table == self._tables.index("pool_stat"))
        self._stats = self._row[self._points]
        self._told = {name: columns.ints(name)[self._stats] for name in FIGURES}
        self._free, self._tree, self._session = ledger.totals.counted[:, self._stats]
        self.size = ledger.page_size
        self._rest = self._told["total"] // self.size - _named(ledger)
        self._compared = self._told["session"] != NULL
        self._compared &= self._seq < _first_restore(ledger)
        if counts_turns_as_sessions(ledger.info):
            self._compared &= self._told["total"] // self.size == self._known() + self._session
        self.missing = self._missing()
        self.codes[self._points] = self._judged(self.codes[self._points])

    def place(self, index: int) -> Place:
        """Where the event stands, or the one that the fault goes back to."""
        place, broken = super().place(index), self.ledger.facts.broken.get((self.law, *self.event(index)))
        return (
            place
            if broken is None or broken.at is None
            else replace(place, seq=broken.at[0], step=broken.at[1])
        )

    @property
    def _seq(self) -> Int64s:
        return self.ledger.events.rows["pool_stat"].columns.ints("seq")[self._stats]

    def total(self, index: int) -> PoolTotal:
        """The figures of one settled point."""
        at = int(np.searchsorted(self._points, index))
        told: dict[str, int | None] = {name: int(values[at]) for name, values in self._told.items()}
        if not self._compared[at]:
            told["session"] = None
        size, lost = self.size, self.ledger.totals.lost.get(self.event(index)[1], ())
        known = [int(column[at]) * size for column in (self._free + self._rest, self._tree, self._session)]
        return PoolTotal(
            told=told,
            free=known[0],
            tree=known[1],
            session=known[2],
            running=(told["total"] or 0) - sum(known) - len(lost) * size,
            missing=int(self.missing[at]),
            lost=lost,
            suspects=_suspects(self.ledger, int(self._seq[at])),
        )

    def _known(self) -> Int64s:
        """Pages that are free, the tree's, lost or never named."""
        lost = np.zeros(len(self._stats), dtype=np.int64)
        for row, pages in self.ledger.totals.lost.items():
            lost[self._stats == row] = len(pages)
        return np.asarray(self._free + self._tree + self._rest + lost, dtype=np.int64)

    def _missing(self) -> Int64s:
        known = self._known() + np.where(self._compared, self._session, 0)
        told = self._told["available"] + self._told["evictable"] + self._told["protected"]
        told = told + np.where(self._compared, self._told["session"], 0)
        return np.asarray(known * self.size - told, dtype=np.int64)

    def _judged(self, codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        reason = self.ledger.facts.reason
        for hit, why in self._unjudged():
            codes[(codes == PASS) & hit] = reason(why)
        codes[(codes == PASS) & (self._apart | (np.abs(self.missing) >= self.size))] = FAIL
        for first, last, code in self.ledger.dropped:
            codes[(codes == FAIL) & (self._seq >= first) & (self._seq <= last)] = code
        return codes

    @property
    def _apart(self) -> Mask:
        """Settled points whose free slots, or the tree's, are not those that the events leave: both are whole pages."""
        free = self._told["available"] != (self._free + self._rest) * self.size
        return mask(free | (self._told["evictable"] + self._told["protected"] != self._tree * self.size))

    def _unjudged(self) -> Iterator[tuple[Mask | bool, str]]:
        """Settled points whose figures can't be added up, and why."""
        info, told = self.ledger.info, self._told
        yield mask(np.any([told[name] == NULL for name in FIGURES if name != "session"], axis=0)), UNTOLD
        sizes = [pool.slots for pool in info.pools if pool.name == self.ledger.namespaces.main_name]
        yield mask((self._rest < 0) | ~np.isin(told["total"], [size for size in sizes if size])), MOVING
        apart = info.settings.get("unified_memory") is False
        yield not apart and any(pool.kind in SHARING for pool in info.pools), SHARED
        yield info.settings.get("dcp_size") not in (None, 1), OTHER_UNITS


def _named(ledger: Ledger) -> int:
    """Pages that an event may name, but for the dummy's."""
    space = ledger.namespaces.all[ledger.namespaces.main]
    return max(0, ledger.main.pages - pages_between(0, space.reserved, space.page_size))


def _first_restore(ledger: Ledger) -> int:
    if ledger.totals.restored:
        return NULL
    columns = ledger.events.slots["cache"].columns
    seqs = columns.ints("seq")[columns.texts("action").equal("session_restore")]
    return int(seqs.min(initial=np.iinfo(np.int64).max))


def _suspects(ledger: Ledger, seq: int) -> tuple[int, ...]:
    """Pages that an event before `seq` freed, granted, named or used against a law."""
    pages = set[int]()
    for (_, table, index), broken in ledger.facts.broken.items():
        if ledger.events.table(table).ints("seq")[index] < seq:
            pages.update(broken.pages)
    return tuple(sorted(pages))
