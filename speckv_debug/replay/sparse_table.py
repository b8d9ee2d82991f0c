"""A table whose columns are read when they are asked for, up to a seq."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from speckv_debug.recording.arrays import empty_table
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.recording.table_files import seq_of


class SparseTable:
    """What `Columns` needs of an Arrow table; nothing of a part behind `until_seq` is read."""

    def __init__(self, process: ProcessRecording, name: str, until_seq: int | None) -> None:
        self._schema = SCHEMAS[name]
        pieces = process.pieces(name)
        self._pieces = [p for p in pieces if until_seq is None or p.first <= until_seq]
        self._until = until_seq

    @property
    def column_names(self) -> list[str]:
        """Those of the schema."""
        return list(self._schema.names)

    @property
    def num_rows(self) -> int:
        """Rows up to `until_seq`."""
        return int(self._seq.num_rows)

    def column(self, name: str) -> pa.ChunkedArray:
        """One column of these rows."""
        table = self._seq if name == "seq" else self._read(name)
        return table.column(name).slice(0, self.num_rows)

    @cached_property
    def _seq(self) -> pa.Table:
        table = self._read("seq")
        if self._until is None:
            return table
        return table.slice(0, int(np.searchsorted(seq_of(table), self._until, side="right")))

    def _read(self, name: str) -> pa.Table:
        names = ["seq"] if name == "seq" else ["seq", name]
        schema = pa.schema([self._schema.field(each) for each in names])
        return pa.concat_tables([empty_table(schema), *(p.read([name]) for p in self._pieces)])
