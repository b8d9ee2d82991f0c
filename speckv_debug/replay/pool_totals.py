"""What OWN-CONSERVE looks at: the engine's figures of the main pool beside the ledger's, and the locks of the tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from speckv_debug.kernels.reserve import pages_between
from speckv_debug.replay.engine_version import counts_turns_as_sessions
from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ledger_facts import FAIL, PASS
from speckv_debug.replay.ledger_totals import IN_GROUP
from speckv_debug.replay.ownership import EventFacts
from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.session_counts import turns_run

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
        size: Slots of the pool as the process declares them, None unless the total was another one before or is later.
        waiting: Pages that waited for the end of a free group, None if none was open.
    """

    told: dict[str, int | None]
    free: int
    tree: int
    session: int
    running: int
    missing: int
    lost: tuple[int, ...]
    suspects: tuple[int, ...]
    size: int | None
    waiting: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolBeside:
    """One settled point of a pool beside the main one, in slots.

    Attributes:
        told: The engine's figures by their names.
        free: What the events leave free.
    """

    pool: str
    told: dict[str, int | None]
    free: int


class PoolTotals(EventFacts):
    """One instance a settled point, and one a lock and unlock of the prefix tree.

    A settled point: available, evictable, protected and session slots, those of running requests, and the pool's size.

    The engine tells the first four; whose the rest is the ledger knows. What a session's pages are called while a turn
    runs differs (SGLang 0.5.22 and later count them as the session's): while a session's turn runs, and there while any
    request runs, the ledger's figure counts, and the engine's lies between what is saved and that with all that runs.
    """

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger, "totals")
        columns = ledger.events.rows["pool_stat"].columns
        stats = self._table == self._tables.index("pool_stat")
        self._beside = np.flatnonzero(stats & np.isin(self._row, ledger.beside.stats))
        self._points = np.setdiff1d(np.flatnonzero(stats), self._beside)
        self._stats = self._row[self._points]
        self._told = {name: columns.ints(name)[self._stats] for name in FIGURES}
        self._free, self._tree, self._session = ledger.totals.counted[:, self._stats]
        self.size = ledger.page_size
        self._rest = self._told["total"] // self.size - _named(ledger)
        self.says_session = mask(self._told["session"] != NULL)
        self._open = turns_run(ledger, self._seq)
        self._compared = self.says_session & ~self._open
        if counts_turns_as_sessions(ledger.info):
            self._open = mask(np.ones(len(self._stats), dtype=np.bool_))
            self._compared &= self._running == 0
        self.missing = self._missing()
        self.codes[self._points] = self._judged(self.codes[self._points])
        for index in self._beside[self.codes[self._beside] == PASS].tolist():
            self.codes[index] = self._judged_beside(self._row[index])

    def place(self, index: int) -> Place:
        """Where the event stands, or the one that the fault goes back to."""
        place, broken = super().place(index), self.ledger.facts.broken.get((self.law, *self.event(index)))
        if (told := self.beside(index)) is not None:
            return replace(place, pool=told.pool)
        return (
            place
            if broken is None or broken.at is None
            else replace(place, seq=broken.at[0], step=broken.at[1])
        )

    @property
    def _seq(self) -> Int64s:
        return self.ledger.events.rows["pool_stat"].columns.ints("seq")[self._stats]

    def beside(self, index: int) -> PoolBeside | None:
        """The figures of one settled point of a pool beside the main one, None of another instance."""
        table, row = self.event(index)
        if table != "pool_stat" or row not in self.ledger.beside.free:
            return None
        stats = self.ledger.events.rows["pool_stat"]
        told = {name: stats.int_or_none(name, row) for name in FIGURES}
        return PoolBeside(pool=stats.texts("pool")[row] or "", told=told, free=self.ledger.beside.free[row])

    def _judged_beside(self, row: int) -> int:
        """The code of a settled point of another pool: how much is free there is known, and nothing else."""
        stats, reason = self.ledger.events.rows["pool_stat"], self.ledger.facts.reason
        pool = self.ledger.info.pool(stats.texts("pool")[row])
        available, total = (stats.int_or_none(name, row) for name in ("available", "total"))
        if available is None or total is None:
            return reason(UNTOLD)
        if pool is None or pool.slots != total:
            return reason(MOVING)
        if (why := next((why for hit, why in self._shared() if hit), None)) is not None:
            return reason(why)
        return PASS if available == self.ledger.beside.free[row] else FAIL

    def total(self, index: int) -> PoolTotal:
        """The figures of one settled point."""
        at = int(np.searchsorted(self._points, index))
        told: dict[str, int | None] = {name: int(values[at]) for name, values in self._told.items()}
        if not self._compared[at] and not self._session_apart[at]:
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
            size=self._sizes[0] if self._resized[at] else None,
            waiting=self.ledger.totals.waiting.get(self.event(index)[1]),
        )

    def _known(self) -> Int64s:
        """Pages that are free, the tree's, lost or never named."""
        lost = np.zeros(len(self._stats), dtype=np.int64)
        for row, pages in self.ledger.totals.lost.items():
            lost[self._stats == row] = len(pages)
        return np.asarray(self._free + self._tree + self._rest + lost, dtype=np.int64)

    @property
    def _running(self) -> Int64s:
        """Pages of running requests and transfers."""
        return np.asarray(self._told["total"] // self.size - self._known() - self._session, dtype=np.int64)

    @cached_property
    def moved(self) -> Mask:
        """The total is not the size that the process declares, of a pool that shares its memory with no other."""
        total, alone = self._told["total"], not any(hit for hit, _ in self._shared())
        return mask((total != NULL) & ~np.isin(total, self._sizes) & (len(self._sizes) > 0) & alone)

    @property
    def _sizes(self) -> list[int]:
        """The size of the pool, if the process declares it."""
        name = self.ledger.namespaces.main_name
        return [pool.slots for pool in self.ledger.info.pools if pool.name == name and pool.slots]

    def _missing(self) -> Int64s:
        known = self._known() + np.where(self._compared, self._session, 0)
        told = self._told["available"] + self._told["evictable"] + self._told["protected"]
        told = told + np.where(self._compared, self._told["session"], 0)
        return np.asarray(known * self.size - told, dtype=np.int64)

    def _judged(self, codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        reason = self.ledger.facts.reason
        wrong = self._apart | self._session_apart | (np.abs(self.missing) >= self.size)
        told, shared = self._unjudged(), self._shared()
        for hit, why in (*told, *shared):
            codes[(codes == PASS) & hit] = reason(why)
        codes[(codes == PASS) & wrong] = FAIL
        codes[(codes == reason(MOVING)) & self._resized] = FAIL
        codes[(codes == reason(IN_GROUP)) & self._returned] = FAIL
        for first, last, code in self.ledger.dropped:
            codes[(codes == FAIL) & (self._seq >= first) & (self._seq <= last)] = code
        return codes

    @property
    def _resized(self) -> Mask:
        """The total is another one than the size of the pool, which other settled points have."""
        return mask(self.moved & np.isin(self._told["total"], self._sizes).any())

    @property
    def _returned(self) -> Mask:
        """Free slots that are those that the events leave with all that waits for the end of a free group: it has ended."""
        waiting = np.array([self.ledger.totals.waiting.get(row, 0) for row in self._stats.tolist()], np.int64)
        due = (self._free + self._rest + waiting) * self.size
        ends = self.ledger.info.records("free_group")
        return mask(ends & (waiting > 0) & ~self.moved & (self._told["available"] == due))

    @property
    def _session_apart(self) -> Mask:
        """The engine counts more slots of sessions than they can have, or fewer than one a page that is saved."""
        running = np.where(self._open, self._running, 0)
        told, most = self._told["session"], (self._session + running) * self.size
        return mask(self.says_session & ((told > most) | (told < self._session)))

    @property
    def _apart(self) -> Mask:
        """Settled points whose free slots, or the tree's, are not those that the events leave: both are whole pages."""
        free = self._told["available"] != (self._free + self._rest) * self.size
        return mask(free | (self._told["evictable"] + self._told["protected"] != self._tree * self.size))

    def _unjudged(self) -> Iterator[tuple[Mask | bool, str]]:
        """Settled points that do not tell what is added up, and why."""
        told = self._told
        silent = np.any([told[name] == NULL for name in FIGURES if name != "session"], axis=0)
        yield mask(silent | (~self.says_session & self.says_session.any())), UNTOLD
        yield mask((self._rest < 0) | ~np.isin(told["total"], self._sizes)), MOVING

    def _shared(self) -> Iterator[tuple[bool, str]]:
        """Whether the figures of the process can't be added up at all, and why."""
        info = self.ledger.info
        apart = info.settings.get("unified_memory") is False
        yield not apart and any(pool.kind in SHARING for pool in info.pools), SHARED
        yield info.settings.get("dcp_size") not in (None, 1), OTHER_UNITS


def _named(ledger: Ledger) -> int:
    """Pages that an event may name, but for the dummy's."""
    space = ledger.namespaces.all[ledger.namespaces.main]
    return max(0, ledger.main.pages - pages_between(0, space.reserved, space.page_size))


def _suspects(ledger: Ledger, seq: int) -> tuple[int, ...]:
    """Pages that an event before `seq` freed, granted, named or used against a law."""
    pages = set[int]()
    for (_, table, index), broken in ledger.facts.broken.items():
        if ledger.events.table(table).ints("seq")[index] < seq:
            pages.update(broken.pages)
    return tuple(sorted(pages))
