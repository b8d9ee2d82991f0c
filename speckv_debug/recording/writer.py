"""The writer thread: takes events from the queue, resolves staged values, spools, hands over for sealing."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from speckv_debug.recording.manifest import finish_manifest
from speckv_debug.recording.rows import Row, misfit, to_batch
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.recording.sealing import Sealer, TableLog
from speckv_debug.recording.spool import FOLDER

Entry = tuple[str, Row]
CHUNK_ROWS = 8_192
SIZE_EVERY_S = 1.0
PLAIN = frozenset({int, str, bool, float, list, tuple, type(None)})
COLUMN_NAMES = {table: frozenset(schema.names) for table, schema in SCHEMAS.items()}

log = logging.getLogger("speckv_debug")


class Writer:
    """Runs until `ending` is set and the queue is empty, then seals everything and calls `finish`."""

    def __init__(
        self,
        folder: Path,
        queue: deque[Entry],
        finish: Callable[[str | None], None],
        *,
        flush_s: float,
        seal_s: float,
    ) -> None:
        self.thread = threading.Thread(target=self._run, name="speckv-debug-writer", daemon=True)
        self.wake = threading.Event()
        self.ending = False
        self.say: Callable[..., None] = lambda text, level: None
        self._folder = folder
        self._queue = queue
        self._finish = finish
        self._flush_s = flush_s
        self._pending: dict[str, list[Row]] = {}
        self._pending_rows = 0
        self._said: set[str] = set()
        self._sealer = Sealer(seal_s)
        self._logs: dict[str, TableLog] = {}
        self._max_bytes: int | None = None
        self._limit_reached: Callable[[str], None] = lambda why: None
        self._size_at = 0.0

    def start(self) -> None:
        """Make the spool folder and start the thread."""
        (self._folder / FOLDER).mkdir()
        self.thread.start()

    def limit_size(self, max_bytes: int | None, reached: Callable[[str], None]) -> None:
        """Call `reached` once the recording takes more than `max_bytes` on disk."""
        self._max_bytes, self._limit_reached = max_bytes, reached

    def _run(self) -> None:
        failure = None
        try:
            while not self.ending or self._queue or self._pending:
                self.wake.wait(self._flush_s)
                self.wake.clear()
                self._drain()
                self._sealer.tend(self._logs.values())
                self._check_size()
            self._sealer.seal_all(self._logs.values())
            (self._folder / FOLDER).rmdir()
        except BaseException as error:  # noqa: BLE001 (disk full, …: what is spooled stays readable)
            failure = f"{type(error).__name__}: {error}"
            log.warning("speckv-debug: recording of %s ended: %s", self._folder, failure)
        self._finish(failure)
        try:
            finish_manifest(self._folder.parent)
        except OSError as error:
            log.warning("speckv-debug: %s: %s", self._folder.parent, error)

    def _drain(self) -> None:
        """Spool everything that waits now, in chunks."""
        flush_at = time.monotonic() + self._flush_s
        for _ in range(len(self._queue)):
            table, row = self._queue.popleft()
            if why := self._prepare(table, row):
                self._refuse(table, row, why)
            else:
                self._add(table, row)
            if self._pending_rows >= CHUNK_ROWS or time.monotonic() >= flush_at:
                self._flush()
                flush_at = time.monotonic() + self._flush_s
        self._flush()

    def _prepare(self, table: str, row: Row) -> str | None:
        """Resolve staged values in place; why the event can't be kept, or None."""
        if table not in COLUMN_NAMES:
            return "there is no such table"
        for column, value in row.items():
            if type(value) not in PLAIN and hasattr(value, "resolve"):
                try:
                    row[column] = self._resolve(value)
                except Exception as error:  # noqa: BLE001 (a lost device value is one drop)
                    return f"column {column}: {type(error).__name__}: {str(error)[:120]}"
        if not row.keys() <= COLUMN_NAMES[table]:
            for column in row.keys() - COLUMN_NAMES[table]:
                self._say_once(f"table {table} has no column {column}; it is left out")
        return None

    def _resolve(self, value: Any) -> Any:
        """The staged value; what waits is spooled first if the device may keep us waiting."""
        ready = getattr(value, "ready", None)
        if callable(ready) and not ready():
            self._flush()
        return value.resolve()

    def _add(self, table: str, row: Row) -> None:
        self._pending.setdefault(table, []).append(row)
        self._pending_rows += 1

    def _refuse(self, table: str, row: Row, why: str) -> None:
        """Put a drop in the event's place, so that seq stays dense."""
        t_ns = row["t_ns"] if type(row["t_ns"]) is int else None
        drop = {"table": _text(table), "rows": 1, "why": _text(why)}
        self._add("drop", {"seq": row["seq"], "t_ns": t_ns, **drop})
        self._say_once(f"an event of table {table} was dropped: {why}")

    def _say_once(self, text: str) -> None:
        if text not in self._said and len(self._said) < 1000:
            self._said.add(text)
            self.say(_text(text), level="warning")

    def _flush(self) -> None:
        """One batch a table to the spool; a row that doesn't fit its table becomes a drop."""
        pending, self._pending, self._pending_rows = self._pending, {}, 0
        batches = {t: self._convert(t, rows) for t, rows in pending.items() if t != "drop"}
        drops = pending.get("drop", []) + self._pending.pop("drop", [])
        batches["drop"] = self._convert("drop", sorted(drops, key=lambda row: row["seq"]))
        for table, batch in batches.items():
            if batch is not None:
                self._log(table).append(batch)

    def _convert(self, table: str, rows: list[Row]) -> pa.RecordBatch | None:
        try:
            return to_batch(table, rows) if rows else None
        except Exception:  # noqa: BLE001 (whatever a foreign object raises; now row by row)
            good = []
            for row in rows:
                if why := misfit(table, row):
                    self._refuse(table, row, why)
                else:
                    good.append(row)
        return to_batch(table, good) if good else None

    def _log(self, table: str) -> TableLog:
        if table not in self._logs:
            self._logs[table] = TableLog(self._folder, table)
        return self._logs[table]

    def _check_size(self) -> None:
        if self._max_bytes is None or time.monotonic() < self._size_at:
            return
        self._size_at = time.monotonic() + SIZE_EVERY_S
        if _size_on_disk(self._folder.parent) >= self._max_bytes:
            self._limit_reached(f"the limit of {self._max_bytes} bytes was reached")


def _text(text: str) -> str:
    """Without lone surrogates, which no Arrow string can hold."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


def _size_on_disk(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # a temporary file may have gone
            size += path.stat().st_size
    return size
