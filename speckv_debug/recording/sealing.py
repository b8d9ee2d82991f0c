"""Turning spooled rows into Parquet parts on a thread of its own, so that a slow disk delays no spool."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from speckv_debug.recording.parts import PART_ROWS, part_path, seal_part
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.recording.spool import SpoolFile, spool_path

PART_BYTES = 32 << 20
FEW_ROWS, FEW_TIMES = 512, 6
"""A table with few rows waits longer, so that an hour leaves no thousands of tiny parts."""
UNSEALED_BYTES = 512 << 20


class TableLog:
    """One table's way to disk: batches go to the spool at once and leave it when their part is durable."""

    def __init__(self, process_folder: Path, table: str) -> None:
        self.folder = process_folder / table
        self.schema = SCHEMAS[table]
        self.spool = SpoolFile(spool_path(process_folder, table), self.schema)
        self.batches: list[pa.RecordBatch] = []
        self.rows = 0
        self.since = 0.0
        self.parts = 0
        self.sealing = 0

    def append(self, batch: pa.RecordBatch) -> None:
        """Spool one batch."""
        self.spool.append(batch)
        if not self.batches:
            self.since = time.monotonic()
        self.batches.append(batch)
        self.rows += batch.num_rows

    def due(self, seal_s: float) -> bool:
        """Whether a part should be made now."""
        if self.sealing or not self.batches:
            return False
        if self.rows >= PART_ROWS or self.spool.size >= PART_BYTES:
            return True
        return time.monotonic() - self.since >= (seal_s if self.rows >= FEW_ROWS else FEW_TIMES * seal_s)

    def sealed(self) -> None:
        """The part is durable: the spool keeps only what came after."""
        self.rows -= sum(batch.num_rows for batch in self.batches[: self.sealing])
        del self.batches[: self.sealing]
        self.spool.cut(self.sealing)
        self.sealing = 0
        self.parts += 1
        self.since = time.monotonic()


class Sealer:
    """Seals on a background thread; all bookkeeping stays with the caller's thread."""

    def __init__(self, seal_s: float) -> None:
        self._seal_s = seal_s
        self._todo: queue.SimpleQueue[TableLog] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[TableLog, BaseException | None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def tend(self, logs: Iterable[TableLog]) -> None:
        """Take note of finished parts and begin those that are due; waits only if memory runs full."""
        logs = list(logs)
        self._collect(logs, wait=False)
        for log in logs:
            if log.due(self._seal_s):
                self._begin(log)
        while sum(log.spool.size for log in logs) > UNSEALED_BYTES and any(log.sealing for log in logs):
            self._collect(logs, wait=True)

    def seal_all(self, logs: Iterable[TableLog]) -> None:
        """Seal everything and wait for it."""
        logs = list(logs)
        while any(log.batches for log in logs):
            for log in logs:
                if log.due(0.0):
                    self._begin(log)
            self._collect(logs, wait=True)

    def _begin(self, log: TableLog) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="speckv-debug-sealer", daemon=True)
            self._thread.start()
        log.sealing = len(log.batches)
        self._todo.put(log)

    def _collect(self, logs: list[TableLog], *, wait: bool) -> None:
        while True:
            try:
                log, error = self._done.get(block=wait)
            except queue.Empty:
                return
            if error is not None:
                raise error
            log.sealed()
            wait = False

    def _run(self) -> None:
        while True:
            log = self._todo.get()
            try:
                table = pa.Table.from_batches(log.batches[: log.sealing], log.schema).combine_chunks()
                seal_part(part_path(log.folder, log.parts), table)
            except BaseException as error:  # noqa: BLE001 (raised again by the writer)
                self._done.put((log, error))
            else:
                self._done.put((log, None))
