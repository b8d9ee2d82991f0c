"""Which events name some slots: only the lists are read, then some columns of the rows that were found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from speckv_debug.recording.arrays import fixed_array
from speckv_debug.recording.parts import Within
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.recording.table_files import Piece
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.ragged import Int64s, Mask, mask
from speckv_debug.replay.slot_events import SLOT_COLUMNS

WHO = ("step", "request", "row", "epoch")
BESIDE: Mapping[str, tuple[str, ...]] = {
    "alloc": (*WHO, "pool", "reason", "site"),
    "free": (*WHO, "pool", "reason", "group", "site"),
    "table_write": ("step", "row", "epoch", "pool", "start"),
    "move": ("step", "pool", "caller"),
    "accept": (*WHO, "layout", "width", "block_start", "seq_len", "accept_len", "accept_index"),
    "forward": (*WHO, "pool", "mode", "start"),
    "cache": ("step", "request", "pool", "action", "node", "start"),
    "transfer": ("step", "request", "pool", "action", "direction"),
    "swa_map": ("step", "full_slots", "swa_slots"),
    "page_ref": ("step", "row", "pool", "action", "holder", "count_after"),
}
"""What is read of the rows that name a slot."""

READERS = 2
"""Parts that are read and searched at the same time: reading and looking for ids need no interpreter."""

OF_THE_PAGE = ("free", "cache")
"""Tables of which an event about one slot may concern the whole page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The ids that are looked for: those of a page, `[first, end)`, or one slot in it; `space` is their allocator's number."""

    space: int
    first: int
    end: int
    slot: int | None = None

    def bounds(self, table: str) -> tuple[int, int]:
        """The ids that an event of a table has to name to be found, `[low, high)`."""
        if self.slot is None or table in OF_THE_PAGE:
            return self.first, self.end
        return self.slot, self.slot + 1

    def inside(self, values: Int64s) -> Mask:
        """Which ids of an event are meant: the slot where it is among them, else those of its page."""
        if self.slot is not None and (named := values == self.slot).any():
            return mask(named)
        return mask((values >= self.first) & (values < self.end))


def lists_of(namespaces: Namespaces, space: int) -> dict[str, tuple[str, ...]]:
    """Table → its columns that may name ids of an allocator, given by its number."""
    found = {name: lists for name, lists in SLOT_COLUMNS.items() if name != "accept"}
    if space == namespaces.main:
        return found | {"accept": SLOT_COLUMNS["accept"], "swa_map": ("full_slots",)}
    if namespaces.all[space].kind == "swa":
        return found | {"swa_map": ("swa_slots",)}
    return found | {"page_ref": ("pages",)}


def naming(
    process: ProcessRecording,
    namespaces: Namespaces,
    wanted: Wanted,
    until_seq: int | None,
    on_progress: Callable[[float], None] = lambda share: None,
) -> dict[str, Columns]:
    """Table → its events that name such an id, up to `until_seq`, in the order of `seq`.

    A part whose statistics exclude these ids is not read. Columns that were not read are null.
    """
    lists, found = lists_of(namespaces, wanted.space), dict[str, list[pa.Table]]()
    pieces = [(name, piece) for name in lists for piece in process.pieces(name)]
    looked_at = [(name, each) for name, each in pieces if until_seq is None or each.first <= until_seq]
    with ThreadPoolExecutor(READERS) as readers:
        hits = readers.map(lambda at: _hits(at[1], at[0], lists[at[0]], *wanted.bounds(at[0])), looked_at)
        for number, ((table, _), hit) in enumerate(zip(looked_at, hits, strict=True)):
            on_progress(number / len(looked_at))
            if hit is not None:
                found.setdefault(table, []).append(hit)
    return {
        table: Columns(_chosen(pa.concat_tables(hits), namespaces, wanted.space, until_seq))
        for table, hits in found.items()
    }


def _hits(piece: Piece, table: str, lists: tuple[str, ...], first: int, end: int) -> pa.Table | None:
    within = Within(lists[0], first, end) if len(lists) == 1 else None
    named = piece.read(list(lists), within)
    columns = Columns(named)
    rows = np.unique(np.concatenate([_rows(columns, name, first, end) for name in lists]))
    if not len(rows):
        return None
    at = fixed_array(rows, pa.int64())
    rest = piece.read([name for name in BESIDE[table] if name not in lists], within)
    if rest.num_rows != named.num_rows:  # a part turned out damaged, and is left out from now on
        return _hits(piece, table, lists, first, end)
    taken = {name: column for part in (named, rest) for name, column in _columns(part.take(at))}
    nulls = {field.name: pa.nulls(len(rows), field.type) for field in SCHEMAS[table]}
    return pa.table({**nulls, **taken}, schema=SCHEMAS[table])


def _rows(columns: Columns, name: str, first: int, end: int) -> Int64s:
    """Rows whose list holds a value in `[first, end)`."""
    lists = columns.lists(name)
    at = np.flatnonzero((lists.values >= first) & (lists.values < end))
    return np.searchsorted(lists.offsets, at, side="right").astype(np.int64) - 1


def _columns(table: pa.Table) -> list[tuple[str, pa.ChunkedArray]]:
    return [(name, table.column(name)) for name in table.column_names]


def _chosen(table: pa.Table, namespaces: Namespaces, space: int, until_seq: int | None) -> pa.Table:
    """The rows of one allocator, up to a seq."""
    columns = Columns(table)
    kept = np.ones(len(columns), dtype=np.bool_)
    if columns.has("pool"):
        kept &= namespaces.indices(columns.texts("pool")) == space
    if until_seq is not None:
        kept &= columns.ints("seq") <= until_seq
    return table if kept.all() else table.take(fixed_array(np.flatnonzero(kept), pa.int64()))
