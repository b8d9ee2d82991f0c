"""Peers of full slots in the pool of the sliding window: what the mapping says against grants, frees and totals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.page_turns import FREE, PageTurns
from speckv_debug.replay.peer_frees import PeerFrees
from speckv_debug.replay.peer_ops import PeerEntries
from speckv_debug.replay.peer_writes import PeerWrites, written_rows
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, any_per_list, mask
from speckv_debug.replay.searching import NEVER
from speckv_debug.replay.unions import EventUnion, none_of

SWA = "swa"
MAIN, WINDOW = 0, 1
"""Pools as `PageTurns` numbers them here."""


class PeerMaps(EventUnion):
    """One instance a `swa_map` event, a grant of the main pool, a free of either, a target's forward that writes the main
    pool, and a `pool_stat` of the window's pool.

    Without a `swa_map` event there is none, unless they are recorded whole and there is one pool of a window.
    """

    reads = ("alloc", "free", "free_group", "cache", "forward", "accept", "row_free")
    rests_on: Mapping[str, tuple[str, ...]] = {"cache": ("action",), "free_group": ("action",)}

    def __init__(self, columns: Callable[[str], Columns], info: Process, whole: bool) -> None:
        self.columns, self.info, self.spaces = columns, info, Namespaces(info)
        tables = {name: columns(name) for name in ("swa_map", "alloc", "free", "forward", "pool_stat")}
        pools = [pool.name for pool in info.pools if pool.kind == SWA]
        self.pool = pools[0] if len(pools) == 1 else None
        some = len(tables["swa_map"]) > 0 or (len(pools) == 1 and info.records("swa_map"))
        super().__init__(tables, self._chosen(tables, pools) if some else none_of(tables))
        self.whole = whole and info.records("swa_map")

    def _chosen(self, tables: Mapping[str, Columns], pools: Sequence[str]) -> Mapping[str, Mask]:
        mapped, alloc, _, forward, stat = tables.values()
        counted = (stat.ints("available") != NULL) & (stat.ints("total") != NULL)
        main = self.spaces.indices(alloc.texts("pool")) == self.spaces.main
        chosen = {
            "swa_map": np.ones(len(mapped), dtype=np.bool_),
            "alloc": main & (alloc.flags("granted") != 0),
            "free": self._frees_of >= 0,
            "forward": written_rows(forward, self.spaces.main_name) & self._paged,
            "pool_stat": stat.texts("pool").equal(*pools[:1]) & counted,
        }
        return {name: mask(which) for name, which in chosen.items()}

    @property
    def _paged(self) -> bool:
        """Whether there is one window's pool, with ids of its own, and it is granted by pages, not as a ring of each request."""
        own = [pool for pool in self.info.pools if pool.name == self.pool and pool.allocated_by is None]
        return bool(own) and own[0].owner in (None, "page")

    @cached_property
    def _frees_of(self) -> Int64s:
        """MAIN or WINDOW for each event of `free`, -1 of another pool."""
        return self._pools_of("free")

    @cached_property
    def entries(self) -> PeerEntries:
        """What the mapping was told, slot by slot."""
        return PeerEntries(self.columns)

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From what an instance's verdict rests on to its event."""
        first = self.seq.copy()
        if not len(self):
            return first, first
        since = np.minimum(self.entries.seq, self._since)
        np.minimum.at(first, self.at["swa_map"][self.entries.event], since)
        np.minimum.at(first, self.at["alloc"][self.grants[0]], self._since_grant)
        first[self.at["pool_stat"]] = 0
        first[self.at["free"]] = np.where(
            self.over(self.frees.mapped, "free")[self.at["free"]], 0, self.seq[self.at["free"]]
        )
        np.minimum.at(first, self.at["forward"][self.writes.owners], self._since_write)
        last = self.seq.copy()
        settled = self.frees.settled
        last[self.at["free"]] = np.where(settled == NEVER, last[self.at["free"]], settled)
        return first, last

    @cached_property
    def told(self) -> Mask:
        """Instances that say what they did."""
        told = np.ones(len(self), dtype=np.bool_)
        told[self.at["swa_map"]] = self.entries.told
        for name in ("alloc", "free"):
            filled = self.columns(name).lists("slots").filled
            told[self.at[name]] = filled[self.rows[name]]
        told[self.at["free"]] &= ~self._after_untold
        return told

    @property
    def _after_untold(self) -> Mask:
        """Frees before whose settlement some change of the mapping does not say what it changed."""
        untold = self.columns("swa_map").ints("seq")[~self.entries.told]
        return mask(untold.min(initial=NEVER) < self.frees.settled)

    @property
    def recorded(self) -> bool:
        """Whether a change of the mapping that is not there was not made: what it was told last still holds."""
        return self.info.records("swa_map")

    # ---- entries that break the law -------------------------------------------------------------

    @cached_property
    def shared(self) -> Mask:
        """Entries that give a peer which another slot still has."""
        return mask(self.entries.rival >= 0)

    @cached_property
    def replaced(self) -> Mask:
        """Entries that give another peer to a slot that has one; what was left over at its grant is not said again."""
        entries = self.entries
        before = np.append(entries.swa, 0)[entries.last]
        return mask(entries.maps & (before != 0) & (before != entries.swa) & ~self._granted_since)

    @cached_property
    def unowned(self) -> Mask:
        """Entries that give a peer to a slot which is in the free list, or was never granted."""
        turn, _ = self._main_turns
        return mask(self.entries.maps & ~self.padding & ((turn == FREE) | ((turn == NULL) & self._counted)))

    def granted_never(self, entry: int) -> bool:
        """Whether no grant of an entry's slot was seen, nor a free."""
        return bool(self._main_turns[0][entry] == NULL)

    @cached_property
    def unseen(self) -> Mask:
        """Entries that give a peer to a slot whose grant may lie before the recording."""
        turn, _ = self._main_turns
        return mask(self.entries.maps & ~self.padding & (turn == NULL) & ~self._counted)

    @cached_property
    def padding(self) -> Mask:
        """Entries that give a peer to the dummy slot of the main pool."""
        return mask((self.entries.full < self.spaces.all[self.spaces.main].reserved) & self.entries.maps)

    @property
    def _counted(self) -> Mask:
        """Entries before which each grant since all slots were free was recorded, if grants are."""
        return mask(self.whole | (self.entries.era > 0))

    @cached_property
    def ungranted(self) -> Mask:
        """Entries that give a peer which the window's allocator has not granted, where its grants were recorded."""
        turn, _ = self._swa_turns
        never = (turn == NULL) & self._counted & self.info.records("alloc")
        granting = self._turns.granting(WINDOW)
        return mask(self.entries.maps & granting & ((turn == FREE) | never))

    @cached_property
    def leftover(self) -> Mask:
        """Slots of grants, as in `grants`, that still have the peer of an earlier holder."""
        return mask((self._left >= 0) & (np.append(self.entries.swa, 0)[self._left] != 0))

    @cached_property
    def frees(self) -> PeerFrees:
        """Each page that goes back to the main pool or to the window's."""
        sizes = (self._main_size, self.page_size)
        rows = self.rows["free"]
        return PeerFrees(self.columns, rows, self._frees_of[rows], self.entries, self._turns, sizes)

    @cached_property
    def writes(self) -> PeerWrites:
        """Each slot of the main pool that a forward of the target writes."""
        return PeerWrites(self.columns, self.rows["forward"], self.entries, self._turns, self._main_size)

    @property
    def written_to_nothing(self) -> Mask:
        """Slots that are written, as in `writes`, and that surely have no peer."""
        return mask(self.writes.without_peer & (self._told_peer | self.whole))

    @property
    def written_unseen(self) -> Mask:
        """Slots that are written, as in `writes`, of whose peer nothing was seen."""
        return mask(self.writes.without_peer & ~self._told_peer & (not self.whole))

    @property
    def _told_peer(self) -> Mask:
        return mask(self.writes.last >= 0)

    @cached_property
    def grants(self) -> tuple[Int64s, Int64s]:
        """Each slot that is granted from the main pool: number of the grant among the instances' allocs, slot."""
        slots = self.columns("alloc").lists("slots").take(self.rows["alloc"])
        return slots.owners, slots.values

    @cached_property
    def mapped(self) -> Int64s:
        """Pages that hold a peer at each `pool_stat`."""
        seq = self.columns("pool_stat").ints("seq")[self.rows["pool_stat"]]
        return self.entries.pages_mapped(self.page_size, seq)

    @cached_property
    def allocated(self) -> Int64s:
        """Pages of the window's pool that are not available at each `pool_stat`."""
        stat, rows = self.columns("pool_stat"), self.rows["pool_stat"]
        return (stat.ints("total") - stat.ints("available"))[rows] // self.page_size

    @cached_property
    def page_size(self) -> int:
        """Of the window's pool, 1 if not recorded."""
        return self.spaces.all[self.spaces.index(self.pool)].page_size

    @cached_property
    def miscounted(self) -> Mask:
        """`pool_stat` events with another number of pages than the mapping holds."""
        return mask(self.mapped != self.allocated)

    def over(self, hit: Mask, table: str) -> Mask:
        """A mask over entries, granted slots, freed slots or `pool_stat` events as one over the instances."""
        found = np.zeros(len(self), dtype=np.bool_)
        owners = {
            "swa_map": lambda: self.entries.event,
            "alloc": lambda: self.grants[0],
            "free": lambda: self.frees.owners,
            "forward": lambda: self.writes.owners,
        }.get(table, lambda: None)()
        found[self.at[table]] = hit if owners is None else any_per_list(hit, owners, len(self.at[table]))
        return found

    # ---- what they rest on ----------------------------------------------------------------------

    @cached_property
    def _turns(self) -> PageTurns:
        return PageTurns(self.columns, self._pages_of)

    def _pages_of(self, name: str) -> tuple[Ragged, Int64s]:
        """Pages of the main pool and of the window's."""
        table = self.columns(name)
        space = self.spaces.indices(table.texts("pool"))
        return self.spaces.pages(table.lists("slots"), space).runs, self._pools_of(name)

    def _pools_of(self, name: str) -> Int64s:
        """MAIN, WINDOW or -1 for each event; a free of what left the window gives back no page of the main pool."""
        table = self.columns(name)
        space = self.spaces.indices(table.texts("pool"))
        main = space == self.spaces.main
        if name == "free":
            main &= ~table.texts("reason").equal("swa_window")
        window = space == (self.spaces.index(self.pool) if self.pool else -1)
        return np.where(main, MAIN, np.where(window, WINDOW, -1))

    @property
    def _main_size(self) -> int:
        return self.spaces.all[self.spaces.main].page_size

    @cached_property
    def _main_turns(self) -> tuple[Int64s, Int64s]:
        return self._last_turns(MAIN, self.entries.full // self._main_size)

    @cached_property
    def _swa_turns(self) -> tuple[Int64s, Int64s]:
        return self._last_turns(WINDOW, self.entries.swa // self.page_size)

    def _last_turns(self, pool: int, pages: Int64s) -> tuple[Int64s, Int64s]:
        """The last turn of each entry's page before it and its `seq`, NULL where there is none since a reset."""
        entries = self.entries
        turn, since = self._turns.before(np.full(len(entries), pool), pages, entries.seq)
        known = ~entries.reset_between(since, entries.seq)
        return np.where(known, turn, NULL), np.where(known, since, NULL)

    @cached_property
    def _left(self) -> Int64s:
        owners, slots = self.grants
        return self.entries.before(slots, self.columns("alloc").ints("seq")[self.rows["alloc"]][owners])

    @cached_property
    def _granted_since(self) -> Mask:
        """Entries before which their slot was granted again."""
        found = np.zeros(len(self.entries), dtype=np.bool_)
        then = self.entries.end[self._left[self.leftover]]
        found[then[then < len(found)]] = True
        return found

    @property
    def _since(self) -> Int64s:
        """The earliest event that an entry's verdict rests on."""
        entries, own = self.entries, self.entries.seq
        earlier = [np.append(own, NULL)[which] for which in (entries.last, entries.rival)]
        earlier += [self._main_turns[1], self._swa_turns[1]]
        found = own.copy()
        for seq in earlier:
            found = np.minimum(found, np.where(seq == NULL, own, seq))
        never = (self.ungranted & (self._swa_turns[0] == NULL)) | (
            self.unowned & (self._main_turns[0] == NULL)
        )
        return np.where(never, 0, found)

    @property
    def _since_grant(self) -> Int64s:
        own = self.columns("alloc").ints("seq")[self.rows["alloc"]][self.grants[0]]
        return np.where(self._left < 0, own, np.append(self.entries.seq, 0)[self._left])

    @property
    def _since_write(self) -> Int64s:
        own = self.writes.seq
        told = np.append(self.entries.seq, 0)[self.writes.last]
        return np.where(self.writes.without_peer, np.minimum(own, told), own)
