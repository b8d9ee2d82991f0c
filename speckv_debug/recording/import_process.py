"""One process of an import: its events become batches, its batches part files."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from speckv_debug.recording.arrays import fixed_array
from speckv_debug.recording.atomic import write_json
from speckv_debug.recording.manifest import PROCESS
from speckv_debug.recording.mistake import Mistake
from speckv_debug.recording.parts import PART_ROWS, part_path, write_part
from speckv_debug.recording.rows import to_batch
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.recording.table_files import seq_of

BATCH_ROWS = 4_096
BATCH_ITEMS = 1 << 20
PART_BYTES = 64 << 20
LARGEST_SEQ = 1 << 62


class ProcessImport:
    """Collects the events of one `process` line and writes the process's folder.

    Args:
        folder: The process's folder, made here.
        raw: Content of process.json.
    """

    def __init__(self, folder: Path, raw: Mapping[str, Any]) -> None:
        folder.mkdir()
        write_json(folder / PROCESS, raw)
        self._folder = folder
        self._tables: dict[str, _TableImport] = {}
        self._seqs = array("q")
        self._lines = array("q")
        self._next = 0

    @property
    def events(self) -> int:
        """How many events it has."""
        return len(self._seqs)

    def add(self, table: str, row: dict[str, Any], line: int) -> None:
        """Take one event; without a seq it follows the event before it.

        Raises:
            Mistake: Its seq is no place in an order.
        """
        seq = row.setdefault("seq", self._next)
        if not 0 <= seq < LARGEST_SEQ:
            raise Mistake(
                f'"seq" is {seq}: out of range', f"It counts events from 0 up to {LARGEST_SEQ - 1}."
            )
        self._next = seq + 1
        self._seqs.append(seq)
        self._lines.append(line)
        if table not in self._tables:
            self._tables[table] = _TableImport(self._folder / table, table)
        self._tables[table].add(row)

    def finish(self) -> None:
        """Write what is left."""
        for table in self._tables.values():
            table.finish()

    def repeated(self) -> tuple[int, int, int] | None:
        """A seq that two lines have, and the two lines; None if each is there once."""
        seqs = np.frombuffer(self._seqs, np.int64)
        if np.all(seqs[1:] > seqs[:-1]):
            return None
        order = np.argsort(seqs, kind="stable")
        twice = order[np.flatnonzero(np.diff(seqs[order]) == 0) + 1]
        if not len(twice):
            return None
        second = int(twice.min())
        first = int(np.flatnonzero(seqs == seqs[second])[0])
        return int(seqs[second]), self._lines[first], self._lines[second]


class _TableImport:
    """One table: rows → batches → parts, so that memory stays bounded."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir()
        self._folder = folder
        self._name = name
        self._rows: list[dict[str, Any]] = []
        self._items = 0
        self._batches: list[pa.RecordBatch] = []
        self._parts = 0

    def add(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        self._items += sum(len(value) for value in row.values() if isinstance(value, (list, np.ndarray)))
        if len(self._rows) >= BATCH_ROWS or self._items >= BATCH_ITEMS:
            self._make_batch()
            rows = sum(batch.num_rows for batch in self._batches)
            if rows >= PART_ROWS or sum(batch.nbytes for batch in self._batches) >= PART_BYTES:
                self._make_part()

    def finish(self) -> None:
        if self._rows:
            self._make_batch()
        if self._batches:
            self._make_part()

    def _make_batch(self) -> None:
        self._batches.append(to_batch(self._name, self._rows))
        self._rows, self._items = [], 0

    def _make_part(self) -> None:
        table = pa.Table.from_batches(self._batches, SCHEMAS[self._name]).combine_chunks()
        seq = seq_of(table)
        if np.any(seq[1:] < seq[:-1]):
            table = table.take(fixed_array(np.argsort(seq, kind="stable"), pa.int64()))
        write_part(part_path(self._folder, self._parts), table)
        self._parts += 1
        self._batches = []
