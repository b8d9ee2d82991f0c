"""One recorded process: its tables, their common order, what is missing of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from speckv_debug.model.events import Event
from speckv_debug.model.process import Process
from speckv_debug.recording.events import events_of
from speckv_debug.recording.loss import problems_of, recorded_whole
from speckv_debug.recording.order import EventBatch, EventOrder, holes, merge
from speckv_debug.recording.parts import Within
from speckv_debug.recording.problem import Problem
from speckv_debug.recording.schema import TABLES
from speckv_debug.recording.spool import read_spool, spool_path
from speckv_debug.recording.stream import batches_of, windows_of
from speckv_debug.recording.survey import Extent, Look, Survey, damaged_in
from speckv_debug.recording.table_files import Piece, TableFiles, seq_of
from speckv_debug.recording.tail import unfinished_tail

HELD_ROWS = 1 << 18
"""Events up to which all tables of a process are held in memory once all were asked for."""


class ProcessRecording:
    """The events of one process; files are looked at on first use and never changed.

    Args:
        folder: The process's folder.
        info: The content of process.json.
        clean: Whether the process ended in order; None if nobody knows (written by hand).
        problems: What was wrong with process.json.
    """

    def __init__(
        self, folder: Path, info: Process, *, clean: bool | None, problems: tuple[Problem, ...] = ()
    ) -> None:
        self.folder = folder
        self.label = info.label
        self.info = info
        self.clean = clean
        self._problems = problems
        self._tables: dict[str, pa.Table] = {}
        self._seqs: dict[str, npt.NDArray[np.int64]] = {}
        self._gaps: list[tuple[int, int]] | None = None
        self._damaged = 0
        self._survey: Survey | None = None

    @cached_property
    def files(self) -> Mapping[str, TableFiles]:
        """Table → its files, for the tables that have any."""
        spools = {name: read_spool(spool_path(self.folder, name)) for name in TABLES}
        found = {name: TableFiles.find(self.folder, name, spools[name]) for name in TABLES}
        kept = {name: files for name, files in found.items() if not files.empty}
        if not self.clean:
            end = unfinished_tail(kept)
            for files in kept.values():
                files.end = end
        return kept

    @property
    def seqs(self) -> Mapping[str, npt.NDArray[np.int64]]:
        """Table → its seq column, int64[rows], ascending; without parts that turned out damaged meanwhile."""
        damaged = sum(len(files.damaged) for files in self.files.values())
        if damaged != self._damaged:
            self._seqs.clear()
            self._damaged = damaged
        for name in self.files:
            if name not in self._seqs:
                self._seqs[name] = seq_of(self.columns(name))
                self._gaps = None
        return self._seqs

    @property
    def present(self) -> tuple[str, ...]:
        """Tables with rows, in the schema's order."""
        extents = self.extents
        return tuple(name for name in TABLES if name in extents)

    @property
    def extents(self) -> Mapping[str, Extent]:
        """Tables with rows and how far they reach; after a survey without their seq columns."""
        if (known := self._known) is not None:
            return known.extents
        return {n: Extent(int(seq[0]), int(seq[-1]), len(seq)) for n, seq in self.seqs.items() if len(seq)}

    def survey(self, columns: list[str], look: Look) -> Survey:
        """Show seq and some columns of all tables to `look`, stretch by stretch, and keep what they say together."""
        self._survey = Survey.of(self.files, columns, look)
        return self._survey

    @property
    def _known(self) -> Survey | None:
        """The survey, unless damage has shown since."""
        survey = self._survey
        return survey if survey is not None and survey.damaged == damaged_in(self.files) else None

    def table(self, name: str) -> pa.Table:
        """The whole table, sorted by seq, each seq once, in the schema's columns; empty if absent."""
        if name not in self._tables:
            self._tables[name] = self._files(name).read()
            self._seqs.pop(name, None)
        return self._tables[name]

    def columns(self, name: str, *columns: str) -> pa.Table:
        """seq and some more columns of a table, read without the rest of it."""
        if name in self._tables:
            return self._tables[name].select(["seq", *(c for c in columns if c != "seq")])
        return self._files(name).read(list(columns))

    def pieces(self, name: str) -> list[Piece]:
        """A table in pieces that can be read one by one, each with the columns that are asked for."""
        if name in self._tables:
            table = self._tables[name]
            seq = table.column("seq")
            whole = partial(_selected, table)
            return [Piece(seq[0].as_py(), seq[-1].as_py(), whole)] if len(seq) else []
        return self._files(name).pieces()

    @property
    def _all_pieces(self) -> Mapping[str, list[Piece]]:
        return {name: self.pieces(name) for name in self.files}

    def forget(self) -> None:
        """Free the tables that are held in memory; they are read again if they are asked for."""
        self._tables.clear()

    def order(self) -> EventOrder:
        """All events in ascending seq; `index` is the row in `table(name)`, so this loads every table."""
        return self._order

    @cached_property
    def _order(self) -> EventOrder:
        return merge({name: seq_of(self.table(name)) for name in self.files})

    def gaps(self) -> list[tuple[int, int]]:
        """Missing seq ranges `[a, b)` between recorded events; reads only the seq columns."""
        if (known := self._known) is not None and known.dense:
            return []
        seqs = self.seqs  # reads what is not known yet
        if self._gaps is None:
            self._gaps = holes(seqs.values())
        return list(self._gaps)

    @property
    def missing_head(self) -> int:
        """How many events are missing before the first one, of a process that was recorded from its start.

        A stream may begin at any seq, so this is no gap. One written by hand may count its process line as event 0.
        """
        first = min((extent.first for extent in self.extents.values()), default=0)
        by_hand = self.clean is None and first == 1
        return first if self.info.from_start and not by_hand else 0

    @property
    def last_seq(self) -> int | None:
        """The last event, None without any; reads only the seq columns."""
        return max((extent.last for extent in self.extents.values()), default=None)

    def batches(self, max_events: int = 65_536) -> Iterator[EventBatch]:
        """The stream in stretches of at most `max_events`; holds about one part file a table in memory."""
        return batches_of(self._all_pieces, max_events)

    def windows(self, ends: Iterable[int]) -> Iterator[Mapping[str, pa.Table]]:
        """The tables in stretches that end with these `seq`, both included, texts as codes.

        Holds about one part file a table in memory.

        Each part is read once and whole: when the last stretch has come, `problems` knows all damage.
        """
        yield from windows_of(self.files, ends)
        self._seqs.clear()

    @property
    def rows(self) -> int:
        """How many events there are, by the files' footers."""
        return sum(files.rows for files in self.files.values())

    def events(self, first_seq: int | None = None, last_seq: int | None = None) -> Iterator[Event]:
        """Events with `first_seq <= seq <= last_seq`, as objects: for viewers and small spans."""
        for batch in batches_of(self._all_pieces, 4096, first_seq, last_seq):
            yield from events_of(batch)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is missing or damaged, as far as it was read: damage inside a part shows when it is read."""
        return self._problems + problems_of(self)

    @property
    def recorded_whole(self) -> tuple[str, ...]:
        """`info.tables` without those of which a file is damaged, as far as it was read."""
        return recorded_whole(self)

    def verify(self) -> tuple[Problem, ...]:
        """Read every part once, then say what is missing or damaged.

        What it reads of a short recording is held in memory until `forget`, so that nothing is read twice.
        """
        short = self.rows <= HELD_ROWS
        for name, files in self.files.items():
            if short:
                self.table(name)
            else:
                files.verify()
        self._seqs.clear()
        return self.problems

    def _files(self, name: str) -> TableFiles:
        if name not in TABLES:
            raise KeyError(f"there is no table {name}")
        return self.files.get(name) or TableFiles(name)


def _selected(
    table: pa.Table, columns: list[str] | None = None, within: Within | None = None, coded: bool = False
) -> pa.Table:
    """Some columns of a table in memory, as `Piece.read` gives them."""
    found = table if columns is None else table.select(["seq", *(c for c in columns if c != "seq")])
    for at, field in enumerate(found.schema) if coded else ():
        if pa.types.is_string(field.type):
            found = found.set_column(at, field.name, found.column(at).dictionary_encode())
    return found
