"""Rings of compressor state as they stand at one event: which positions each request's ring holds, and each page's."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from speckv_debug.model.process import Pool
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.ring_cells import RingCells
from speckv_debug.replay.ring_history import ring_size
from speckv_debug.replay.row_starts import RowStarts
from speckv_debug.replay.searching import first_with

COLUMNS = {
    "state_access": ("request", "row", "pool", "action", "ring_rows", "positions"),
    "state_clear": ("request", "row", "pool", "ring_rows", "ring_size"),
}
ACCEPT = ("request", "row", "seq_len", "accept_len", "width")


@dataclass(frozen=True, slots=True, kw_only=True)
class RingState:
    """What a request's ring holds.

    Attributes:
        size: Rows of the ring, None if no clear and no setting says it.
        positions: That are stored, ascending.
        cleared: Rows that hold the neutral state because they were emptied.
        rejected: Those of the positions that are drafts which their verify did not accept.
    """

    pool: str
    row: int
    size: int | None
    positions: tuple[int, ...]
    cleared: int
    rejected: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRing:
    """What the state holds that is bound to a page of the window's pool, of the request that wrote there last.

    Attributes:
        positions, rejected: Of that request, as in `RingState`.
        others: Addresses of the page that hold what others wrote before.
    """

    pool: str
    page: int
    request: str | None
    positions: tuple[int, ...]
    others: int
    rejected: tuple[int, ...] = ()


class RingStates:
    """The cells of all rings as they stand after event `seq`."""

    def __init__(self, process: ProcessRecording, seq: int) -> None:
        self._process, self._seq, self._pools = process, seq, process.info.pools
        self._tables = {name: Columns(process.columns(name, *columns)) for name, columns in COLUMNS.items()}
        paged = [pool.name for pool in self._pools if pool.owner == "page"]
        access = self._tables["state_access"]
        pools = {pool.name: at for at, pool in enumerate(self._pools)}
        self._cells = cells = RingCells(
            self._tables.__getitem__,
            lambda name: self._tables[name].texts("pool").numbered(pools),
            mask(access.texts("pool").equal(*paged)),
        )
        kept = np.flatnonzero(~cells.reads & (cells.seq <= seq) & (cells.pool >= 0))
        self._last = kept[_last_of(cells, kept)]

    def of_rows(self, holders: Mapping[int, str | None]) -> Iterator[RingState]:
        """The rings of these request rows, by pool and row; those of which nothing is known are left out.

        Args:
            holders: Row → the request that has it, None where its name is not known. What others stored there is not its.
        """
        began = self._starts.last(holders, self._seq)
        for pool, row, every in self._grouped(self._cells.row[self._last]):
            mine = every[self._stands(every, holders[row], began[row])] if row in holders else every[:0]
            if len(mine):
                stored = self._cells.position[mine]
                yield RingState(
                    pool=pool.name,
                    row=row,
                    size=ring_size(self._process, pool),
                    positions=_ascending(stored[stored >= 0]),
                    cleared=int((stored < 0).sum()),
                    rejected=_ascending(stored[self._rejected(mine)]),
                )

    def _stands(self, cells: Int64s, holder: str | None, began: int) -> Mask:
        """Cells that its holder stored in the life that began there; an emptied one is empty whoever emptied it."""
        others = [None not in (name, holder) and name != holder for name in self._request(cells)]
        own = (self._cells.seq[cells] > began) & ~np.array(others, dtype=np.bool_)
        return mask((self._cells.table[cells] == 1) | own)

    def of_pages(self, requests: Collection[str]) -> Iterator[PageRing]:
        """The state that is bound to pages which these requests wrote to last, by pool and page."""
        row, at = self._cells.row[self._last], self._cells.ring_row[self._last]
        sizes = {pool.name: ring_size(self._process, pool) for pool in self._pools if pool.owner == "page"}
        size = np.array([sizes.get(pool.name) or 0 for pool in self._pools] + [0])[
            self._cells.pool[self._last]
        ]
        page = np.where((row == NULL) & (size > 0), at // np.maximum(size, 1), NULL)
        for pool, number, mine in self._grouped(page):
            newest = self._request(mine[[int(np.argmax(self._cells.seq[mine]))]])[0]
            own = mine[np.array([name == newest for name in self._request(mine)], dtype=np.bool_)]
            if newest in requests:
                stored = self._cells.position[own]
                yield PageRing(
                    pool=pool.name,
                    page=number,
                    request=newest,
                    positions=_ascending(stored),
                    others=len(mine) - len(own),
                    rejected=_ascending(stored[self._rejected(own)]),
                )

    def _grouped(self, key: Int64s) -> Iterator[tuple[Pool, int, Int64s]]:
        """Pool, key and cells of the last state of each; without those of no key."""
        pool = self._cells.pool[self._last]
        for at, value in sorted(set(zip(pool.tolist(), key.tolist(), strict=True))):
            if value != NULL:
                yield self._pools[at], value, self._last[(pool == at) & (key == value)]

    def _request(self, cells: Int64s) -> list[str | None]:
        """Who wrote each of these cells, None of those that were emptied."""
        access, emptied = self._tables["state_access"], self._cells.table == 1
        return [
            None if emptied[k] else access.text_at("request", int(self._cells.event[k]))
            for k in cells.tolist()
        ]

    def _rejected(self, cells: Int64s) -> Mask:
        """Cells with a position that the first verify behind the write, of the same life, did not keep."""
        accept, names = self._accept, self._request(cells)
        found = self._verify(cells, names)
        length, n, width = (
            np.append(accept.ints(name), NULL)[found] for name in ("seq_len", "accept_len", "width")
        )
        known = (length != NULL) & (n != NULL) & (width != NULL)
        offset = self._cells.position[cells] - np.where(known, length, 0)
        return mask(known & (offset >= n) & (offset < width))

    def _verify(self, cells: Int64s, names: list[str | None]) -> Int64s:
        """The first accept behind each write, of the row, or of the request where there is no row; -1 if none is known."""
        accept, seq, row = self._accept, self._cells.seq[cells], self._cells.row[cells]
        before, own = accept.ints("seq") <= self._seq, accept.texts("request").codes.astype(np.int64)
        codes = {name: code for code, name in enumerate(accept.texts("request").names)}
        writer = np.array([codes.get(name or "", -1) for name in names], dtype=np.int64)
        named = np.array([name is not None for name in names], dtype=np.bool_)
        of_row = _first(accept.ints("row"), row, accept.ints("seq"), seq, before)
        of_request = _first(own, writer, accept.ints("seq"), seq, before)
        of_request = np.where(writer < 0, -1, of_request)
        found = np.where(row != NULL, of_row, of_request)
        of_other = named & (np.append(own, -1)[found] >= 0) & (np.append(own, -1)[found] != writer)
        ended = np.append(accept.ints("seq"), 0)[found] > self._next_life(row, names, seq)
        return np.where(of_other | ended, -1, found)

    def _next_life(self, row: Int64s, names: list[str | None], seq: Int64s) -> Int64s:
        """`seq` of the start of the next life behind each write, of the row, or of the request where there is no row."""
        return np.where(
            row != NULL, self._starts.next_of_row(row, seq), self._starts.next_of_request(names, seq)
        )

    @cached_property
    def _accept(self) -> Columns:
        return Columns(self._process.columns("accept", *ACCEPT))

    @cached_property
    def _starts(self) -> RowStarts:
        return RowStarts(self._process)


def states_of(process: ProcessRecording, seq: int) -> RingStates | None:
    """None for a process that says nothing of such state."""
    return RingStates(process, seq) if any(name in process.files for name in COLUMNS) else None


def _first(key: Int64s, asked: Int64s, seq: Int64s, behind: Int64s, which: Mask) -> Int64s:
    rows = np.flatnonzero(which)
    return np.append(rows, -1)[first_with((key[rows],), seq[rows], (asked,), behind)]


def _ascending(positions: Int64s) -> tuple[int, ...]:
    return tuple(np.sort(positions).tolist())


def _last_of(cells: RingCells, kept: Int64s) -> Int64s:
    """Places in `kept` of the last change of each cell."""
    order = np.lexsort((cells.seq[kept], *cells.keys(kept)[::-1]))
    keys = [key[order] for key in cells.keys(kept)]
    ends = np.ones(len(order), dtype=np.bool_)
    ends[:-1] = np.any([key[1:] != key[:-1] for key in keys], axis=0) if len(order) else []
    return order[ends]
