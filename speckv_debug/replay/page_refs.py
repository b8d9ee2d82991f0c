"""Pages that are kept by counted references (C128): counts, holders, sidecar rows, and what the allocator does with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.lives import NEVER
from speckv_debug.replay.namespaces import COUNTED
from speckv_debug.replay.page_turns import FREE, GRANT, PageTurns
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, any_per_list, mask, starts
from speckv_debug.replay.ref_entries import RefEntries, Runs
from speckv_debug.replay.ring_ends import RingEnds
from speckv_debug.replay.searching import first_with, latest_with
from speckv_debug.replay.sidecars import SidecarCells
from speckv_debug.replay.unions import EventUnion, none_of

LAUNCHES = ("forward", "accept", "pool_stat")
TABLES = ("page_ref", "alloc", "free", "table_write", "row_free", "pool_stat")


class PageRefs(EventUnion):
    """One instance a `page_ref` event, an alloc, free, table_write and total of a pool of kind c128, and the end of a row that
    holds or names pages of one. Without a `page_ref` event there is none, unless they are recorded whole.
    """

    reads = (*TABLES, "row_alloc", "free_group", "cache", "state_access", "state_clear")
    rests_on: Mapping[str, tuple[str, ...]] = {
        "page_ref": ("action",),
        "cache": ("action",),
        "row_free": ("row",),
    }

    def __init__(self, columns: Callable[[str], Columns], info: Process, whole: bool) -> None:
        self.columns, self.info = columns, info
        self.sizes = {pool.name: pool.page_size or 1 for pool in info.pools if pool.kind == COUNTED}
        tables = {name: columns(name) for name in TABLES}
        self.whole = whole and info.records("page_ref")
        some = len(tables["page_ref"]) > 0 or info.records("page_ref")
        looked_at = some or (len(columns("state_clear")) > 0 and bool(self.rings.left.any()))
        super().__init__(tables, self._chosen(tables, some) if looked_at else none_of(tables))

    def _chosen(self, tables: Mapping[str, Columns], some: bool) -> Mapping[str, Mask]:
        of_pool = ("alloc", "free", "table_write", "pool_stat")
        chosen = {name: mask(self._pool(name) >= 0) & some for name in of_pool}
        chosen["alloc"] &= tables["alloc"].flags("granted") != 0
        chosen["page_ref"] = np.ones(len(tables["page_ref"]), dtype=np.bool_)
        named = tables["table_write"].ints("row")[chosen["table_write"]]
        rows = np.concatenate((named, self.entries.row, self.rings.row[self.rings.left]))
        chosen["row_free"] = np.isin(tables["row_free"].ints("row"), rows[rows != NULL])
        return chosen

    def _pool(self, table: str) -> Int64s:
        """Number of each event's pool among those of kind c128, -1 of another; a page_ref without one means the first."""
        numbers = {name: at for at, name in enumerate(self.sizes)}
        return self.columns(table).texts("pool").numbered(numbers, absent=0 if table == "page_ref" else -1)

    @cached_property
    def entries(self) -> RefEntries:
        """References, page by page."""
        cache = self.columns("cache")
        resets = cache.ints("seq")[cache.texts("action").equal("reset")]
        return RefEntries(self.columns("page_ref"), self._pool("page_ref"), resets, self.whole)

    @cached_property
    def rings(self) -> RingEnds:
        """Rings of C128 state at the ends of all rows."""
        return RingEnds(self.columns, self.info)

    @property
    def left_in_ring(self) -> Mask:
        """Ends of rows whose ring was not emptied before the row's next life used it."""
        return self.rings.left[self.rows["row_free"]]

    @cached_property
    def cells(self) -> SidecarCells:
        """What sidecar rows name, page by page."""
        return SidecarCells(self.columns("table_write"), self.rows["table_write"], self._pool("table_write"))

    @cached_property
    def turns(self) -> PageTurns:
        """Grants and frees of the pools' pages."""
        return PageTurns(self.columns, self._pages_of)

    def _pages_of(self, name: str) -> tuple[Ragged, Int64s]:
        slots, pool = self.columns(name).lists("slots"), self._pool(name)
        size = np.array([*self.sizes.values(), 1], dtype=np.int64)[pool][slots.owners]
        if name == "alloc":  # a grant of later slots only goes on in a page that the request holds
            opens = slots.values % size == 0
            lengths = np.bincount(slots.owners[opens], minlength=len(slots)).astype(np.int64)
            return Ragged((slots.values // size)[opens], starts(lengths), slots.present), pool
        return Ragged(slots.values // size, slots.offsets, slots.present), pool

    @cached_property
    def told(self) -> Mask:
        """Instances that say what they did."""
        told = np.ones(len(self), dtype=np.bool_)
        for name, column in (
            ("page_ref", "pages"),
            ("alloc", "slots"),
            ("free", "slots"),
            ("table_write", "slots"),
        ):
            told[self.at[name]] = self.columns(name).lists(column).filled[self.rows[name]]
        start = self.columns("table_write").ints("start") != NULL
        told[self.at["table_write"]] &= start[self.rows["table_write"]]
        return told  # fmt: skip

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the beginning, since counts are sums, to the launch by which an instance is settled."""
        last = np.where(self.settled == NEVER, self.seq, self.settled)
        at, used = self.at["row_free"], self.rings.used[self.rows["row_free"]]
        last[at] = np.where(self.left_in_ring, np.maximum(used, last[at]), last[at])
        return np.zeros(len(self), dtype=np.int64), np.maximum(last, self.seq)

    @cached_property
    def settled(self) -> Int64s:
        """The first launch, or total of a pool, behind each instance; NEVER if the recording ends before."""
        return self._launch(self.seq)

    def _launch(self, seq: Int64s) -> Int64s:
        seqs = np.sort(np.concatenate([self.columns(name).ints("seq") for name in LAUNCHES]))
        return np.append(seqs, NEVER)[np.searchsorted(seqs, seq, side="right")]

    # ---- references -----------------------------------------------------------------------------

    @cached_property
    def revived(self) -> Mask:
        """Retains of a page that is in the free list."""
        turn, _ = self.turns.before(self.entries.pool, self.entries.page, self.entries.seq)
        return mask((self.entries.delta > 0) & (turn == FREE))

    @cached_property
    def ungranted(self) -> Mask:
        """Retains of a page that nobody was granted, of a pool whose grants are seen from when all pages were free."""
        entries, turns = self.entries, self.turns
        turn, since = turns.before(entries.pool, entries.page, entries.seq)
        never = (turn == NULL) | (entries.era_of(since) != entries.era)
        granting = np.isin(entries.pool, turns.pool[turns.turn == GRANT])
        return mask((entries.delta > 0) & never & (turn != FREE) & granting & entries.whole)

    @cached_property
    def unreferenced(self) -> tuple[Mask, Mask]:
        """Grants of pages, over turns, that took no reference and were not freed by the launch behind the next one, and those
        of them that are settled.
        """
        entries, turns = self.entries, self.turns
        taken = np.flatnonzero(entries.delta > 0)
        keys = (entries.pool[taken], entries.page[taken])
        first = np.append(entries.seq[taken], NEVER)[
            first_with(keys, entries.seq[taken], turns.keys, turns.seq)
        ]
        gone = turns.behind(turns.pool, turns.page, turns.seq)
        due = self._launch(self._launch(turns.seq))
        reset = entries.era_of(due) != entries.era_of(turns.seq)
        without = (turns.turn == GRANT) & (turns.page > 0) & (np.minimum(first, gone) >= due) & ~reset
        return mask(without), mask(due != NEVER)

    @cached_property
    def kept_back(self) -> tuple[Mask, Mask]:
        """Releases of the last reference behind which the page was neither freed nor taken again, and which are settled.

        A free that has not come by the launch behind the next one does not come any more.
        """
        entries = self.entries
        fell = (entries.delta < 0) & (entries.count == 0)
        turn = self.turns.behind(entries.pool, entries.page, entries.seq)
        keys = (entries.pool, entries.page)
        again = np.append(entries.seq, NEVER)[first_with(keys, entries.seq, keys, entries.seq)]
        due = self._launch(self._launch(entries.seq))
        return mask(fell & (np.minimum(turn, again) >= due)), mask(due != NEVER)

    @cached_property
    def wrong(self) -> Mask:
        """References that break the law."""
        revived = (self.revived | self.ungranted) & self.info.records("alloc")
        return mask(self.entries.negative | revived | (self._miscounts & self.recorded))

    @property
    def doubtful(self) -> Mask:
        """References that break the law unless an event of a table that is not recorded whole came between."""
        return mask((self.revived | self.ungranted | self._miscounts | self.swapped) & ~self.wrong)

    @property
    def _miscounts(self) -> Mask:
        """References that break the law if all others are seen."""
        entries, (fell, settled) = self.entries, self.kept_back
        counts = entries.miscounted | entries.unheld | entries.twice
        return mask(counts | (fell & settled & self.frees_told))

    @property
    def recorded(self) -> bool:
        """Whether a reference that is not there was neither taken nor given up."""
        return self.info.records("page_ref")

    @property
    def names_recorded(self) -> bool:
        """Whether a cell of a sidecar row still names what was written last."""
        return self.info.records("table_write")

    @cached_property
    def _wrong_events(self) -> Mask:
        return self.over(self.wrong, "page_ref")

    @property
    def frees_told(self) -> bool:
        """Whether frees of these pools are recorded whole."""
        return self.info.records("free") and len(self.turns) > 0

    @cached_property
    def swapped(self) -> Mask:
        """Retains of a page that the same holder, still alive, has just released and someone else has kept."""
        entries, ends = self.entries, self.columns("row_free").ints("seq")
        before = np.append(entries.seq, 0)[entries.hands.before]
        ended = np.searchsorted(ends, entries.seq) > np.searchsorted(ends, before)
        saved = np.append(entries.count, 0)[entries.hands.before] > 0
        return mask(entries.swapped & saved & ~ended & ~self.revived)

    @cached_property
    def left(self) -> Int64s:
        """References to the page of each turn as it takes effect, NULL if unknown."""
        entries, turns = self.entries, self.turns
        keys = (entries.pool, entries.page, entries.era)
        found = latest_with(keys, entries.seq, (*turns.keys, entries.era_of(turns.seq)), turns.seq)
        unseen = np.where(entries.counted_from(turns.seq), 0, NULL)
        count = np.where(found < 0, unseen, np.append(entries.count, NULL)[found])
        return np.where(self.recorded, count, NULL)

    @cached_property
    def available(self) -> tuple[Int64s, Int64s]:
        """Slots that the engine says are available at each total, and those that no reference holds; NULL if unknown."""
        stats, rows, entries = self.columns("pool_stat"), self.rows["pool_stat"], self.entries
        told, total = stats.ints("available")[rows], stats.ints("total")[rows]
        pool, seq = self._pool("pool_stat")[rows], stats.ints("seq")[rows]
        keys = (entries.pool, entries.era)
        found = latest_with(keys, entries.seq, (pool, entries.era_of(seq)), seq)
        pages = np.append(Runs(*keys).total(entries.taken), 0)[found]
        size = np.array([*self.sizes.values(), 1], dtype=np.int64)[pool]
        unknown = ~entries.counted_from(seq) | (total == NULL) | (told == NULL) | (not self.recorded)
        return told, np.where(unknown, NULL, total - pages * size)

    # ---- sidecar rows ---------------------------------------------------------------------------

    @cached_property
    def held(self) -> Int64s:
        """References of the row to the page of each cell when it is used, NULL if unknown, or for a cell that names none then."""
        cells, until, entries = self.cells, self.until, self.entries
        mine = np.flatnonzero(entries.row != NULL)
        keys = tuple(column[mine] for column in (entries.row, entries.pool, entries.page, entries.era))
        asked = (cells.row, cells.pool, cells.page, entries.era_of(until))
        found = latest_with(keys, entries.seq[mine], asked, until)
        named = len(mine) > 0 or not (entries.holder < 0).any()
        unseen = np.where(entries.counted_from(until) & named, 0, NULL)
        held = np.where(found < 0, unseen, np.append(entries.held[mine], NULL)[found])
        return np.where((cells.page > 0) & cells.kept(until) & self.recorded, held, NULL)

    @cached_property
    def until(self) -> Int64s:
        """When each cell is used: at the next launch, before which its page may still be referenced."""
        settled: Int64s = self.settled[self.at["table_write"]][self.cells.write]
        return settled

    @cached_property
    def ends(self) -> tuple[Int64s, Int64s]:
        """Row of each end of a row, and when it is settled: at the next launch or the row's next life."""
        row, at = self.columns("row_free").ints("row")[self.rows["row_free"]], self.at["row_free"]
        alloc = self.columns("row_alloc")
        again = first_with((alloc.ints("row"),), alloc.ints("seq"), (row,), self.seq[at])
        return row, np.minimum(self.settled[at], np.append(alloc.ints("seq"), NEVER)[again])

    @cached_property
    def left_named(self) -> Mask:
        """Ends of rows whose sidecar row still names a page."""
        return self.cells.named(*self.ends)

    @cached_property
    def left_held(self) -> Mask:
        """Ends of rows that still hold a page."""
        row, until = self.ends
        entries = self.entries
        mine = np.flatnonzero(entries.row != NULL)
        total = Runs(entries.row[mine], entries.era[mine]).total((entries.delta + entries.unseen)[mine])
        keys = (entries.row[mine], entries.era[mine])
        found = latest_with(keys, entries.seq[mine], (row, entries.era_of(until)), until)
        return mask(np.append(total, 0)[found] > 0)

    @property
    def surely_left(self) -> Mask:
        """Ends of rows that surely still name or hold a page: the row's next life, which may do so at once, would have been seen."""
        left = (self.left_named & self.names_recorded) | (self.left_held & self.recorded)
        return mask(left & self.info.records("row_alloc"))

    def held_by(self, row: int, until: int) -> list[int]:
        """Pages that a row holds at `until`."""
        mine = np.flatnonzero((self.entries.row == row) & (self.entries.seq < until))
        latest = {int(self.entries.page[k]): int(self.entries.held[k]) for k in mine.tolist()}
        return sorted(page for page, held in latest.items() if held > 0)

    def kind(self, index: int) -> str:
        """The event's table; what is noted only is a kind of its own."""
        table, _row = self.event(index)
        noted = table == "page_ref" and not self._wrong_events[index]
        return "note" if noted else table

    def over(self, hit: Mask, table: str) -> Mask:
        """A mask over entries, turns, cells or ends of rows as one over the instances."""
        found, at = np.zeros(len(self), dtype=np.bool_), self.at[table]
        if table in ("alloc", "free"):
            mine = hit & (self.turns.turn == (GRANT if table == "alloc" else FREE))
            rows = self.turns.event[mine]
            found[at] = np.isin(self.rows[table], rows)
            return found
        owners = {"page_ref": self.entries.event, "table_write": self.cells.write}.get(table)
        found[at] = hit if owners is None else any_per_list(hit, owners, len(at))
        return found
