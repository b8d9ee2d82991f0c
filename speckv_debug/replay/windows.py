"""A long recording in windows: whole steps at a time, with all that the scopes of single steps look at.

What other scopes look at is kept: numbers and texts of every event, and the slots that the ledger follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from speckv_debug.recording.arrays import empty_table, filled
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s, Ragged
from speckv_debug.replay.replayed_paths import ReplayedPaths
from speckv_debug.replay.slot_events import DummyRows
from speckv_debug.replay.view import ProcessView

SCOPES = (
    "verifies", "writes", "forward_reads", "slot_events", "dummy_rows", "row_reaches", "pair_match", "launches",
    "move_contents", "moved_components", "compactions", "settlements", "replayed_accepts", "replayed_compactions",
)  # fmt: skip
"""Scopes of which no instance looks beyond its step."""
WINDOWED_FROM = 500_000
"""Events from which on a recording is judged in windows."""
WINDOW = 1 << 17
"""Events of one window, at least."""
OF_STEPS = ("accept", "move", "compact", "forward")
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
    """Some columns of a table in memory; the others are read when they are asked for."""

    def __init__(self, process: ProcessRecording, name: str, kept: pa.Table) -> None:
        super().__init__(kept)
        self._process, self._name, self._rows = process, name, kept.num_rows

    def __len__(self) -> int:
        return int(self._rows)

    def has(self, name: str) -> bool:
        """Whether the table has such a column."""
        return name in SCHEMAS[self._name].names

    def _column(self, name: str) -> Any:
        if name not in self._table.column_names:
            return self._process.columns(self._name, name).column(name)
        column = self._table.column(name)
        self._table = self._table.drop_columns([name])  # what it is converted to is kept in its place
        return column


class WindowView(ProcessView):
    """One window of a process.

    Args:
        whole: The process.
        tables: The window's rows of each table.
        first_alloc: `seq` of the process's first allocation.
        share: Of all windows, how much this one is.
    """

    def __init__(self, whole: ProcessView, tables: Tables, first_alloc: int, share: float) -> None:
        super().__init__(whole.process, whole.kernels.device)
        self._tables, self._first_alloc, self.share = tables, first_alloc, share

    def columns(self, table: str) -> Columns:
        """The columns of the window's rows of a table."""
        if table not in self._columns:
            rows = self._tables.get(table)
            self._columns[table] = Columns(empty_table(SCHEMAS[table]) if rows is None else rows)
        return self._columns[table]

    def close(self) -> None:
        """Free the window's memory now; its scopes refer to it and to one another."""
        vars(self).clear()

    @cached_property
    def dummy_rows(self) -> DummyRows:
        """One instance a row of a forward or verify that only pads the batch."""
        return DummyRows(self.columns, self.verifies, self.info, self._first_alloc)


def windows(view: ProcessView) -> Iterator[WindowView]:
    """The windows of a process one after another; none if it is short, or its steps can't be told apart.

    When the last one has come, `view` knows the columns that are kept, and the paths of verifies that a window replayed.
    """
    process = view.process
    if process.rows < WINDOWED_FROM or process.problems or process.gaps():
        return
    ends = closed_ends(process)
    if ends is None:
        return
    kept: dict[str, list[pa.Table]] = {}
    paths: list[Ragged] = []
    first_alloc = int(process.seqs["alloc"][0]) if len(process.seqs.get("alloc", ())) else 0
    for tables in _ahead(process.windows(ends)):
        coded = {name: _coded(table) for name, table in tables.items()}
        for name, table in coded.items() if not view.kept else ():
            kept.setdefault(name, []).append(table.select(_kept(name)))
        window = WindowView(view, coded, first_alloc, 1 / len(ends))
        yield window
        paths += [window.replayed_paths.rows] if "replayed_accepts" in vars(window) else []
        window.close()
    for name, parts in kept.items():
        view.keep(name, KeptColumns(process, name, pa.concat_tables(parts)))
    if len(paths) == len(ends) and not process.problems:
        view.replayed_paths = ReplayedPaths.of_windows(view.verifies, paths)
    pa.default_memory_pool().release_unused()


def _ahead(stretches: Iterator[Tables]) -> Iterator[Tables]:
    """The same, each read while the one before it is looked at."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, stretches, None)
        while (tables := coming.result()) is not None:
            coming = reader.submit(next, stretches, None)
            yield tables


def closed_ends(process: ProcessRecording) -> list[int] | None:
    """Some `seq` behind which no step goes on that has begun before, the last event's among them; None if unknown."""
    seqs, steps = [], []
    for name in OF_STEPS:
        table = process.columns(name, "step")
        seq, step = (np.asarray(filled(table.column(c), NULL), dtype=np.int64) for c in ("seq", "step"))
        known = step != NULL
        if name != "forward" and not known.all():
            return None
        seqs.append(seq[known])
        steps.append(step[known])
    seq, last = np.concatenate(seqs), process.last_seq
    return None if last is None or not len(seq) else _chosen(*_spans(seq, np.concatenate(steps)), last)


def _spans(seq: Int64s, step: Int64s) -> tuple[Int64s, Int64s]:
    """First and last `seq` of each step, by the first."""
    order = np.lexsort((seq, step))
    new = np.flatnonzero(np.diff(step[order], prepend=NULL) != 0)
    first, last = seq[order][new], seq[order][np.append(new[1:], len(order)) - 1]
    by_first = np.argsort(first)
    return first[by_first], last[by_first]


def _chosen(first: Int64s, last: Int64s, end: int) -> list[int]:
    reach = np.maximum.accumulate(last)
    closed = reach[:-1][reach[:-1] < first[1:]]
    ends: list[int] = []
    for seq in closed.tolist():
        if seq - (ends[-1] if ends else int(first[0])) >= WINDOW:
            ends.append(seq)
    return [*(seq for seq in ends if seq < end), end]


def _coded(table: pa.Table) -> pa.Table:
    """Texts as codes: a few bytes a row, and found once."""
    for at, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(at, field.name, table.column(at).dictionary_encode())
    return table


def _kept(name: str) -> list[str]:
    lists = FOLLOWED.get(name, ())
    return [
        field.name
        for field in SCHEMAS[name]
        if field.name in lists or not (pa.types.is_list(field.type) or field.name in UNUSED)
    ]
