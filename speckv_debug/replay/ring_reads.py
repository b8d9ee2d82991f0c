"""What compressions read from rings of compressor state, against what stands there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.replay.clears import RING_KIND, RING_SIZE, only_verify, requests_in
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, any_per_list, mask
from speckv_debug.replay.ring_cells import EMPTY, RingCells
from speckv_debug.replay.rows_told import rows_told
from speckv_debug.replay.searching import first_with, latest_with
from speckv_debug.replay.verifies import VerifyBatch

WINDOWS = {RING_KIND: 128, "c4_state": 8}
"""Positions that one compression looks at: C4 overlaps, 2 x ratio (`get_compress_state_write_pad`, SGLang 0.5.23)."""

SAME, OTHER = 1, 0

SIZES = {RING_KIND: RING_SIZE, "c4_state": "c4_ring_size"}
"""Settings that say how many rows a ring has."""


class RingReads:
    """One instance a `state_access` event.

    Cells that are read are numbered `0 .. len(read)-1`; masks are over them unless they say otherwise.
    """

    reads = ("state_access", "state_clear", "accept", "forward", "row_alloc", "transfer")
    rests_on: Mapping[str, tuple[str, ...]] = {"state_access": ("action",), "row_alloc": ("row", "epoch")}

    def __init__(
        self,
        columns: Callable[[str], Columns],
        verifies: Callable[[], VerifyBatch],
        info: Process,
        whole: bool,
    ) -> None:
        self.columns, self._verifies, self.info = columns, verifies, info
        self.access = columns("state_access")
        self.whole = whole and info.records("state_access")
        self.names = sorted({pool.name for pool in info.pools})

    def __len__(self) -> int:
        return len(self.access)

    def place(self, index: int) -> Place:
        """Where the event stands."""
        return place_of(self.access, index)

    def kind(self, index: int) -> str:
        """Reads and writes are different kinds."""
        return self.access.text_at("action", index) or ""

    def _pools(self, table: str) -> Int64s:
        return self.columns(table).texts("pool").numbered({name: at for at, name in enumerate(self.names)})

    @property
    def verifies(self) -> VerifyBatch:
        """The accept events as columns."""
        return self._verifies()

    @cached_property
    def pool(self) -> Int64s:
        """Which of `names` each event's pool is, -1 of another (over events)."""
        return self._pools("state_access")

    @cached_property
    def cells(self) -> RingCells:
        """All cells that any event names."""
        return RingCells(self.columns, self._pools, self.bound_to_pages)

    @cached_property
    def read(self) -> Int64s:
        """The cells that are read."""
        return np.flatnonzero(self.cells.reads).astype(np.int64)

    @cached_property
    def stored(self) -> Int64s:
        """The cell as it was written or emptied last, -1 if it was not."""
        return self.cells.stored(self.read)

    @cached_property
    def wanted(self) -> Int64s:
        """The position that is wanted, below 0 for the neutral state."""
        return self.cells.position[self.read]

    @cached_property
    def found(self) -> Int64s:
        """The position that is stored, EMPTY if the cell was emptied or never written."""
        return np.append(self.cells.position, EMPTY)[self.stored]

    @cached_property
    def unwritten(self) -> Mask:
        """Nothing was seen to be written there."""
        return mask((self.stored < 0) & (self.wanted >= 0))

    @cached_property
    def other(self) -> Mask:
        """The cell holds another position, or none where one is wanted, or one where none is."""
        return mask((self.stored >= 0) & (np.maximum(self.found, EMPTY) != np.maximum(self.wanted, EMPTY)))

    @cached_property
    def rejected(self) -> Mask:
        """The cell holds a draft of the wanted position that its verify did not accept."""
        return mask(self._kept == 0)

    @cached_property
    def undecided(self) -> Mask:
        """How many rows the verify behind the write accepted is not known."""
        return mask(self._kept == NULL)

    @cached_property
    def _kept(self) -> Int64s:
        """1 if the first verify behind the write kept the position, 0 if not, NULL if that is unknown.

        A verify of the request row, or, of state that is bound to pages, of the request that wrote it.
        """
        cells, verifies = self.cells, self._verifies()
        written = np.append(cells.seq, 0)[self.stored]
        accept = first_with((verifies.row,), verifies.seq, (cells.row[self.read],), written)
        if self._paged.any():
            writer = np.append(requests_in(self.access, verifies), -1)[self._write]
            of_writer = first_with(
                (verifies.request.codes.astype(np.int64),), verifies.seq, (writer,), written
            )
            accept = np.where(self._paged, np.where(writer < 0, -1, of_writer), accept)
        judged = (self.stored >= 0) & (accept >= 0) & (self.wanted >= 0) & ~self.other
        judged &= np.append(verifies.seq, 0)[accept] < cells.seq[self.read]
        length, n, width = (
            np.append(column, NULL)[accept]
            for column in (verifies.seq_len, verifies.accepted, verifies.width)
        )
        known = (length != NULL) & (n != NULL) & (width != NULL)
        drafted = known & (self.wanted >= np.where(known, length + n, 0))
        drafted &= self.wanted < np.where(known, length + width, 0)
        unseen = (self.stored >= 0) & (self.wanted >= 0) & (not self.info.records("accept"))
        return np.where(judged & drafted, 0, np.where((judged & ~known) | unseen, NULL, 1))

    @cached_property
    def foreign(self) -> Mask:
        """The cell holds the wanted position of another life of the row."""
        return mask(self._life == OTHER)

    @cached_property
    def _life(self) -> Int64s:
        """Whether the life of the row that wrote each cell reads it, SAME, OTHER, or NULL if that is unknown.

        By epochs; where one is not known by requests, of which a session has one a turn.
        """
        cells = self.cells
        written = (self.stored >= 0) & (self.found >= 0) & ~self.other & ~self._paged
        then, now = (self._alloc(seq) for seq in (np.append(cells.seq, 0)[self.stored], cells.seq[self.read]))
        epoch = np.append(self.columns("row_alloc").ints("epoch"), NULL)
        first, second = epoch[then], epoch[now]
        names = np.append(self.access.texts("request").codes, -1).astype(np.int64)
        writer, reader = names[self._write], names[cells.event[self.read]]
        named = np.where((writer < 0) | (reader < 0), NULL, np.where(writer == reader, SAME, OTHER))
        listed = self.info.records("row_alloc")
        by_epoch = (first != NULL) & (second != NULL) & (listed | (first != second))
        life = np.where(by_epoch, np.where(first == second, SAME, OTHER), named)
        return np.where(written & ~((then == now) & listed), life, SAME)

    @property
    def _write(self) -> Int64s:
        """The event of `state_access` that wrote each cell, -1 of one that was never written, or emptied since."""
        written = np.where(self.cells.table == 0, self.cells.event, -1)
        return np.append(written, -1)[self.stored]

    @property
    def _paged(self) -> Mask:
        """Cells that are bound to pages: whoever shares the page shares them."""
        return mask(self.cells.row[self.read] == NULL)

    def _alloc(self, seq: Int64s) -> Int64s:
        """Number of the last `row_alloc` of each cell's row before `seq`, -1 if there is none."""
        alloc = self.columns("row_alloc")
        return latest_with((alloc.ints("row"),), alloc.ints("seq"), (self.cells.row[self.read],), seq)

    @cached_property
    def arrived(self) -> Mask:
        """State of the request may have come from elsewhere since the cell changed: a transfer of it, or of nobody by name.

        What is bound to pages may have come with any request that shares the page.
        """
        transfer, since = self.columns("transfer"), np.append(self.cells.seq, -1)[self.stored]
        kv = [pool.name for pool in self.info.pools if not pool.kind.endswith("_state")]
        moved = np.flatnonzero(~transfer.texts("pool").equal(*kv))
        codes = {name: code for code, name in enumerate(transfer.texts("request").names)}
        whose = transfer.texts("request").codes.astype(np.int64)[moved]
        seq, event = transfer.ints("seq")[moved], self.cells.event[self.read]
        asked = self.access.texts("request").numbered(codes)[event]
        anyone = self._paged | ~self.access.texts("request").known[event]
        nobody = whose < 0
        of_it = np.maximum(self._latest(whose, seq, asked), self._latest(whose[nobody], seq[nobody], -1))
        return mask(np.where(anyone, self._latest(0 * whose, seq, 0), of_it) > since)

    def _latest(self, whose: Int64s, seq: Int64s, asked: Int64s | int) -> Int64s:
        """`seq` of the last of these events with the asked number before each read, -1 if there is none."""
        asked = np.broadcast_to(asked, len(self.read)).astype(np.int64)
        found = latest_with((whose,), seq, (asked,), self.cells.seq[self.read])
        latest: Int64s = np.append(seq, -1)[found]
        return latest

    @cached_property
    def stale(self) -> Mask:
        """Cells that do not hold what is wanted, as far as it is known."""
        never = self.unwritten & self.whole
        return mask(((self._unsound & self._evident) | never) & ~self.arrived)

    @cached_property
    def open(self) -> Mask:
        """Cells of which it is not known what they hold."""
        doubtful = self._unsound | self.unwritten
        return mask((doubtful & ~self.stale) | self.undecided | (self._life == NULL))

    @property
    def _unsound(self) -> Mask:
        return mask(self.other | self.foreign | self.rejected)

    @property
    def _evident(self) -> Mask:
        """Cells that nothing changed since without being recorded: a write, or a clear where the neutral state is wanted."""
        records = self.info.records
        return mask(((self.wanted >= 0) | records("state_clear")) & records("state_access"))

    # ---- room in the ring -----------------------------------------------------------------------

    @cached_property
    def capacity(self) -> Int64s:
        """Rows of a verify that the event's ring can serve, ring - window + 2; NULL if its size is unknown (over events)."""
        size, window = self.size, self.window
        return np.where((size == NULL) | (window == NULL), NULL, size - window + 2)

    @cached_property
    def size(self) -> Int64s:
        """Rows of the event's ring, NULL if unknown (over events)."""
        return self._sizes()[self.pool]

    @property
    def window(self) -> Int64s:
        """Positions that one compression of the event's pool looks at, NULL of another pool (over events)."""
        kinds = {pool.name: pool.kind for pool in self.info.pools}
        return np.array([*(WINDOWS.get(kinds[name], NULL) for name in self.names), NULL], np.int64)[self.pool]

    def _sizes(self) -> Int64s:
        """Rows of a ring of each pool, by the settings, else by the last clear that says it; NULL if unknown."""
        clear = self.columns("state_clear")
        told = clear.ints("ring_size") != NULL
        sizes = np.full(len(self.names) + 1, NULL, dtype=np.int64)
        sizes[self._pools("state_clear")[told]] = clear.ints("ring_size")[told]
        sizes[-1] = NULL
        kinds = {pool.name: pool.kind for pool in self.info.pools}
        for at, name in enumerate(self.names):
            size = self.info.settings.get(SIZES.get(kinds[name], ""))
            sizes[at] = size if isinstance(size, int) else sizes[at]
        return sizes

    @cached_property
    def verify(self) -> Int64s:
        """The verify that the event belongs to, by its row, else by its request; -1 if it belongs to none (over events)."""
        verifies, row, step = self._verifies(), self.access.ints("row"), self.access.ints("step")
        request, codes = requests_in(self.access, verifies), verifies.request.codes.astype(np.int64)
        of_row = only_verify(verifies, verifies.row, step, row)
        of_request = only_verify(verifies, codes, step, request)
        return np.where(row != NULL, of_row, np.where(request < 0, -1, of_request))

    @cached_property
    def own_row(self) -> Int64s:
        """The row that the event's request has in the step, NULL where nothing tells (over events)."""
        return rows_told(self.columns, "state_access")

    @property
    def strayed(self) -> Mask:
        """Reads and writes of the ring of another row than the request's (over events)."""
        row = self.access.ints("row")
        return mask((row != NULL) & (self.own_row != NULL) & (row != self.own_row) & ~self.bound_to_pages)

    @cached_property
    def width(self) -> Int64s:
        """Rows of the verify that the event belongs to, NULL if it belongs to none (over events)."""
        width: Int64s = np.append(self._verifies().width, NULL)[self.verify]
        return width

    @cached_property
    def crowded(self) -> Mask:
        """Writes of a verify with more rows than the ring can serve (over events)."""
        writes = self.access.texts("action").equal("write")
        return mask(writes & (self.capacity != NULL) & (self.width > self.capacity) & (self.width != NULL))

    @cached_property
    def bound_to_pages(self) -> Mask:
        """Events of a pool whose state belongs to pages, not to request rows (over events)."""
        paged = [pool.name for pool in self.info.pools if pool.owner == "page"]
        return self.access.texts("pool").equal(*paged)

    def over(self, hit: Mask) -> Mask:
        """A mask over the cells that are read as one over the events."""
        return any_per_list(hit, self.cells.event[self.read], len(self))

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the earliest event that a cell rests on to the read; from the beginning where a cell was never written.

        Of a write from the request's verify before to its own.
        """
        seq = self.access.ints("seq")
        first, last = self._of_writes(seq)
        if not len(self.read):
            return first, last
        since = np.append(self.cells.seq, 0)[self.stored]
        np.minimum.at(first, self.cells.event[self.read], since)
        return first, last

    def _of_writes(self, seq: Int64s) -> tuple[Int64s, Int64s]:
        verifies = self.verifies
        writes = self.access.texts("action").equal("write") & (self.verify >= 0)
        own, row = (np.append(column, NULL)[self.verify] for column in (verifies.seq, verifies.row))
        before = latest_with((verifies.row,), verifies.seq, (row,), np.where(writes, own, seq))
        since = np.append(verifies.seq, 0)[before]
        first = np.where(writes, np.minimum(seq, since), seq)
        return first, np.where(writes, np.maximum(seq, own), seq)
