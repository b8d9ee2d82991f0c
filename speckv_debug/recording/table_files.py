"""The files of one table of one process: sealed parts and spool, read as one table sorted by seq."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from speckv_debug.recording.arrays import empty_table, fixed_array, numbers
from speckv_debug.recording.parts import Part, Within, read_part, scan_part
from speckv_debug.recording.problem import REFUSED
from speckv_debug.recording.schema import CODED, CODES, SCHEMAS, STR
from speckv_debug.recording.spool import SpoolContent

READ_ERRORS = (pa.ArrowException, OSError, ValueError, KeyError)
NO_SPOOL = SpoolContent(())


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows that can be read alone; pieces of a table follow one another in seq, `first` and `last` bound it.

    `read(columns, within, coded)` gives all columns of the schema, or seq and those named; with `within` it may leave out
    rows that hold no such value, always the same ones; with `coded` texts are codes.
    """

    first: int
    last: int
    read: Callable[..., pa.Table]


@dataclass(slots=True)
class TableFiles:
    """What there is of a table, and what was found damaged; damage found while reading is added later.

    Attributes:
        damaged: Part file → why.
        misfits: Column that could not be used → why.
        end: Rows from this seq on are left out (the unfinished tail of a killed process), or None.
    """

    name: str
    parts: list[Part] = field(default_factory=list)
    spool: SpoolContent = NO_SPOOL
    damaged: dict[Path, str] = field(default_factory=dict)
    misfits: dict[str, str] = field(default_factory=dict)
    end: int | None = None

    @classmethod
    def find(cls, process_folder: Path, name: str, spool: SpoolContent) -> TableFiles:
        """Look at the footers of the parts. The spool was read before: rows only ever go from it to a part."""
        files, folder = cls(name, spool=spool), process_folder / name
        try:
            names = sorted(os.listdir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return files
        except OSError as error:
            files.damaged[folder] = _reason(error)
            return files
        for path in (folder / each for each in names if each.endswith(".parquet") and each[0] != "."):
            try:
                files.parts.append(scan_part(path))
            except READ_ERRORS as error:
                files.damaged[path] = _reason(error)
        return files

    @property
    def last(self) -> int:
        """The last seq, by the footers of the parts; -1 without any."""
        spooled = [seq for batch in self.spool.batches for seq in _bounds(seq_of(batch))]
        return max([*(part.last for part in self.parts), *spooled], default=-1)

    @property
    def rows(self) -> int:
        """By the footers of the parts; while a part is being sealed its rows are in the spool as well, and count once."""
        sealed = max((part.last for part in self.parts), default=-1)
        spooled = sum(int(np.count_nonzero(seq_of(batch) > sealed)) for batch in self.spool.batches)
        return sum(part.rows for part in self.parts) + spooled

    @property
    def empty(self) -> bool:
        """Whether nothing was ever written."""
        return not (self.parts or self.damaged or self.spool.batches or self.spool.why)

    def read(self, columns: list[str] | None = None) -> pa.Table:
        """All rows, sorted by seq, each seq once; the schema's columns, or only seq and those named."""
        return self._whole(self.parts, columns, spool=True)

    def pieces(self) -> list[Piece]:
        """The table in pieces of one part each, as far as the files follow one another."""
        parts = self.parts
        late = [seq for batch in self.spool.batches for seq in _bounds(seq_of(batch))]
        bounds = [(part.first, part.last) for part in parts] + ([(min(late), max(late))] if late else [])
        if any(a[1] >= b[0] for a, b in pairwise(bounds)):
            whole = partial(self._whole, parts, spool=True)
            return [Piece(min(b[0] for b in bounds), max(b[1] for b in bounds), whole)]
        pieces = [Piece(p.first, p.last, partial(self._whole, [p], spool=False)) for p in parts]
        spooled = [Piece(*bounds[-1], partial(self._whole, [], spool=True))] if late else []
        return pieces + spooled

    def verify(self) -> None:
        """Read every part once and note the damage."""
        for part in self.parts:
            self._read_part(part, SCHEMAS[self.name])

    def _whole(
        self,
        parts: list[Part],
        columns: list[str] | None = None,
        within: Within | None = None,
        coded: bool = False,
        *,
        spool: bool,
    ) -> pa.Table:
        schema = (CODED if coded else SCHEMAS)[self.name]
        names = schema.names if columns is None else ["seq", *(c for c in columns if c != "seq")]
        wanted = pa.schema([schema.field(name) for name in names])
        tables = [table for part in parts if (table := self._read_part(part, wanted, within)) is not None]
        if spool and self.spool.batches:
            tables.append(self._conform(pa.Table.from_batches(self.spool.batches), wanted))
        return _ordered(pa.concat_tables([empty_table(wanted), *tables]), self.end)

    def _read_part(self, part: Part, wanted: pa.Schema, within: Within | None = None) -> pa.Table | None:
        if part.path in self.damaged:
            return None
        coded = [name for name in part.texts if name in wanted.names and wanted.field(name).type == CODES]
        try:
            return self._conform(read_part(part.path, wanted.names, within, coded), wanted)
        except READ_ERRORS as error:
            self.damaged[part.path] = _reason(error)
            return None

    def _conform(self, table: pa.Table, wanted: pa.Schema) -> pa.Table:
        fit = pa.Table.from_arrays([self._column(table, each) for each in wanted], schema=wanted)
        return fit.filter(fit.column("seq").is_valid()) if fit.column("seq").null_count else fit

    def _column(self, table: pa.Table, wanted: pa.Field) -> pa.ChunkedArray:
        at = table.schema.get_field_index(wanted.name)
        if at < 0:
            return pa.chunked_array([pa.nulls(table.num_rows, wanted.type)])
        column = table.column(at)
        if column.type == wanted.type:
            return column
        if wanted.type == CODES:
            return self._column(table, wanted.with_type(STR)).dictionary_encode()
        try:
            return column.cast(wanted.type)
        except READ_ERRORS:
            self.misfits[wanted.name] = f"type {column.type} where {wanted.type} belongs"
            return pa.chunked_array([pa.nulls(table.num_rows, wanted.type)])


def _ordered(table: pa.Table, end: int | None) -> pa.Table:
    seq = seq_of(table)
    if np.any(seq[1:] <= seq[:-1]):
        order = np.argsort(seq, kind="stable")
        seq = seq[order]
        first = np.ones(len(seq), bool)
        first[1:] = seq[1:] != seq[:-1]
        table, seq = table.take(fixed_array(order[first], pa.int64())), seq[first]
    return table if end is None else table.slice(0, int(np.searchsorted(seq, end)))


def seq_of(table: pa.Table | pa.RecordBatch) -> npt.NDArray[np.int64]:
    """The seq column."""
    return np.asarray(numbers(table.column("seq")), np.int64)


def _bounds(seq: npt.NDArray[np.int64]) -> tuple[int, ...]:
    return (int(seq.min()), int(seq.max())) if len(seq) else ()


def _reason(error: BaseException) -> str:
    """Such as `damaged (Couldn't deserialize thrift)`; what may not be read need not be damaged."""
    if isinstance(error, PermissionError):
        return f"{REFUSED} ({error.strerror or 'Permission denied'}; check the permissions)"
    return f"damaged ({str(error).strip().partition(chr(10))[0][:200] or type(error).__name__})"
