"""A long recording in windows: whole steps at a time, with all that the scopes of single steps look at.

What is carried from window to window for scopes that look at earlier events of a life is in `carried`; the ledger goes on
from one to the next (`ledger_stream`). Where scopes are left that see the process whole, what they look at is kept:
numbers and texts of every event, and the slots that the ledger follows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import cached_property
from threading import Event
from typing import Any

import numpy as np
import pyarrow as pa

from speckv_debug.recording.arrays import empty_table
from speckv_debug.recording.meaning import senseless
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.recording.stream import ahead
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.lives_named import Names
from speckv_debug.replay.ragged import Int64s, Mask, Ragged
from speckv_debug.replay.replayed_paths import ReplayedPaths
from speckv_debug.replay.slot_events import DummyRows
from speckv_debug.replay.view import ProcessView
from speckv_debug.replay.window_ends import closed_ends

SCOPES = (
    "verifies", "writes", "forward_reads", "slot_events", "dummy_rows", "row_reaches", "moved_pairs", "launches",
    "move_contents", "moved_components", "compactions", "settlements", "replayed_accepts",
    "replayed_compactions",
)  # fmt: skip
"""Scopes of which no instance looks beyond its step."""
OF_LIVES = (
    "successions", "commits", "late_commits", "bounds", "growths", "tokens", "reaches", "evictions",
    "session_trims", "row_grants",
)  # fmt: skip
"""Scopes of which an instance looks at earlier events of its own life, and of these at what `carried` keeps."""
SPARING = (
    "stretches", "rank_accepts", "grouped_forwards", "peer_maps", "page_refs", "ring_clears", "ring_reads", "draft_reads", "recurrent_state",
    "row_grants", "reuses",
)  # fmt: skip
"""Scopes that see the process whole and have no instance in most: the columns are read when they are asked for."""
WINDOWED_FROM = 500_000
"""Events from which on a recording is judged in windows."""
WINDOW = 3 << 16
"""Events of one window, at least."""
TURN = 0.0002
"""Seconds of a thread's turn at the interpreter while another waits."""
UNUSED = (
    "t_ns", "lane", "begin_ns", "end_ns", "site", "form", "layout", "sampling", "topk",
)  # fmt: skip
"""Columns that no scope of the whole looks at unless something is broken; they are read then."""
Tables = Mapping[str, pa.Table]
FOLLOWED: Mapping[str, tuple[str, ...]] = {
    "alloc": ("slots",),
    "free": ("slots",),
    "table_write": ("slots",),
    "cache": ("slots",),
    "transfer": ("slots",),
    "forward": ("slots",),
    "accept": ("out_cache_loc", "table_slots"),
}
"""List columns that are kept for the ledger."""


class KeptColumns(Columns):
    """Some columns of a table in memory, or none; the others are read when they are asked for.

    Args:
        process: The process.
        name: Of the table.
        rows: How many it has.
        filled: Columns that have a value in some row: the others need not be read.
        holed: Columns that have none in some row: where the others have none need not be read either.
        kept: Those in memory.
    """

    def __init__(
        self,
        process: ProcessRecording,
        name: str,
        rows: int,
        filled: AbstractSet[str],
        holed: AbstractSet[str],
        kept: pa.Table | None = None,
    ) -> None:
        super().__init__(pa.table({}) if kept is None else kept)
        self._process, self._name, self._rows = process, name, rows
        self._filled, self._holed = filled, holed

    def __len__(self) -> int:
        return int(self._rows)

    def has(self, name: str) -> bool:
        """Whether the table has such a column."""
        return name in SCHEMAS[self._name].names

    def absent(self, name: str) -> Mask:
        """Where a column has no value: nowhere and everywhere take no memory."""
        if name in self._filled & self._holed:
            return super().absent(name)
        return np.broadcast_to(np.bool_(name not in self._filled), self._rows)

    def _column(self, name: str) -> Any:
        if name not in self._table.column_names:
            if name not in self._filled:
                return pa.nulls(self._rows, SCHEMAS[self._name].field(name).type)
            return self._process.columns(self._name, name).column(name)
        column = self._table.column(name)
        self._table = self._table.drop_columns([name])  # what it is converted to is kept in its place
        return column


class WindowView(ProcessView):
    """One window of a process.

    Args:
        whole: The process.
        tables: The window's rows of each table.
        end: The last `seq` of the window.
        share: Of all windows, how much this one is.
    """

    def __init__(self, whole: ProcessView, tables: Tables, end: int, share: float) -> None:
        super().__init__(whole.process, whole.kernels.device)
        self.tables, self.end, self.share = tables, end, share
        self._whole = whole

    @property
    def names(self) -> Names:
        """Those of the process, read once for all windows."""
        return self._whole.names

    def columns(self, table: str) -> Columns:
        """The columns of the window's rows of a table."""
        if table not in self._columns:
            rows = self.tables.get(table)
            self._columns[table] = Columns(empty_table(SCHEMAS[table]) if rows is None else rows)
        return self._columns[table]

    @cached_property
    def dummy_rows(self) -> DummyRows:
        """One instance a row of a forward or verify that only pads the batch."""
        return DummyRows(self.columns, self.verifies, self.info, first_alloc(self.process))

    @property
    def stepless(self) -> bool:
        """Where a recording is judged in windows, its events say their steps."""
        return False


def windows(view: ProcessView, *, keep: bool) -> Iterator[WindowView]:
    """The windows of a process one after another; none if it is short, or its steps can't be told apart.

    Each is to be closed when all has been judged that looks at it. When the last one has come, `view` knows the columns that are kept, and the paths of verifies that a window replayed.

    Args:
        view: The process.
        keep: Whether there are scopes that will look at all of it.
    """
    process = view.process
    if process.rows < WINDOWED_FROM or process.problems:
        return
    with system_memory(), short_turns():
        yield from _windows(view, keep)
    pa.default_memory_pool().release_unused()


@contextmanager
def system_memory() -> Iterator[None]:
    """Arrow takes memory from the C library meanwhile.

    Its own allocator gives back at once what a window frees, so that the next one writes to fresh pages, which took a tenth
    of the time of a check.
    """
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.system_memory_pool().release_unused()
        pa.set_memory_pool(before)


@contextmanager
def short_turns() -> Iterator[None]:
    """Threads take turns at the interpreter quickly meanwhile.

    They mostly run code that does not need it, and wait out the other's turn each time they come back from there.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _windows(view: ProcessView, keep: bool) -> Iterator[WindowView]:
    process = view.process
    ends, coming = _begun(process)
    if not ends:
        return
    kept: dict[str, list[pa.Table]] = {}
    pools: dict[str, set[str]] = {}
    strange: dict[str, set[tuple[str, str]]] = {}
    filled: dict[str, set[str]] = {}
    holed: dict[str, set[str]] = {}
    paths: list[Ragged] = []
    loose: list[Int64s] = []
    for end, tables in zip(ends, coming, strict=True):
        for name, table in tables.items() if keep and not view.kept else ():
            kept.setdefault(name, []).append(table.select(_kept(name)))
        window = WindowView(view, tables, end, 1 / len(ends))
        for name, table in tables.items():
            pools.setdefault(name, set()).update(window.pools_of(name))
            strange.setdefault(name, set()).update(senseless(name, table))
            filled.setdefault(name, set()).update(_filled(table))
            holed.setdefault(name, set()).update(_holed(table))
        yield window
        loose += [window.unanswered] if "unanswered" not in vars(view) else []
        paths += [window.replayed_paths.rows] if "replayed_accepts" in vars(window) else []
    for name, extent in process.extents.items() if not view.kept else ():
        table = pa.concat_tables(kept[name]) if name in kept else None
        rows = extent.rows if table is None else table.num_rows
        view.keep(name, KeptColumns(process, name, rows, filled[name], holed[name], table))
    view.pools, view.senseless = pools, strange
    if loose:
        view.unanswered = np.concatenate(loose)
    if len(paths) == len(ends) and not process.problems:
        view.replayed_paths = ReplayedPaths.of_windows(view.verifies, paths)


def _begun(process: ProcessRecording) -> tuple[list[int], Iterator[Tables]]:
    """Where windows end, and the windows, whose first parts are read while the ends are looked for."""
    ends, known = list[int](), Event()

    def told() -> Iterator[int]:
        known.wait()
        yield from ends

    coming = ahead(process.windows(told()))
    try:
        ends += closed_ends(process, WINDOW) or ()
    finally:
        known.set()
    return ends, coming


def first_alloc(process: ProcessRecording) -> int:
    """`seq` of the process's first allocation, 0 if it has none."""
    extent = process.extents.get("alloc")
    return 0 if extent is None else extent.first


def _filled(table: pa.Table) -> Iterator[str]:
    """Columns that have a value in some row."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count < len(column):
            yield name


def _holed(table: pa.Table) -> Iterator[str]:
    """Columns that have no value in some row."""
    return (name for name, column in zip(table.column_names, table.columns, strict=True) if column.null_count)


def _kept(name: str) -> list[str]:
    lists = FOLLOWED.get(name, ())
    return [
        field.name
        for field in SCHEMAS[name]
        if field.name in lists or not (pa.types.is_list(field.type) or field.name in UNUSED)
    ]
