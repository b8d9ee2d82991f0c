"""The writer thread: takes events from the queue, resolves staged values, spools, hands over for sealing.

While it holds the interpreter lock, the engine's thread waits. So it turns what waits into few large Arrow calls,
lets go of the lock between them, and looks at a value that is still on the device again later instead of waiting.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from speckv_debug.model.text import quantity
from speckv_debug.recording.blocks import Block, Cut, Each, blocks_to_batch
from speckv_debug.recording.deferred import (
    AWAITED,
    MAKE,
    ROWS,
    SEQ,
    T_NS,
    Deferred,
    made,
    made_together,
    reason,
)
from speckv_debug.recording.manifest import finish_manifest
from speckv_debug.recording.rows import Row, misfit, to_batch
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.recording.sealing import Sealer, TableLog
from speckv_debug.recording.spool import FOLDER

Entry = tuple[str, Row | Block | Deferred]
CHUNK_ROWS = 8_192
SIZE_EVERY_S = 1.0
LOOK_AGAIN_S = 0.02
"""How soon a value is looked at again that is late on its way from the device."""
LAST_WAIT_S = 5.0
"""How long the end of a recording waits for such values."""
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
        self._pending: dict[str, list[Row | Block | Deferred]] = {}
        self._pending_rows = 0
        self._waits = False
        self._give_up_at: float | None = None
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
                self.wake.wait(LOOK_AGAIN_S if self._waits or self.ending else self._flush_s)
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
        """Spool everything that waits now, in chunks, up to the first value that is still on the device."""
        flush_at = time.monotonic() + self._flush_s
        self._waits = False
        for _ in range(len(self._queue)):
            if self._is_awaited(self._queue[0][1]):
                break
            table, entry = self._queue.popleft()
            if isinstance(entry, tuple):
                self._add(table, entry)
            elif why := self._prepare(table, entry):
                self._refuse(table, entry, why)
            else:
                self._add(table, entry)
            if self._pending_rows >= CHUNK_ROWS or time.monotonic() >= flush_at:
                self._flush()
                flush_at = time.monotonic() + self._flush_s
        self._flush()

    def _is_awaited(self, entry: Row | Block | Deferred) -> bool:
        """Whether a value of the entry is still on the device; at the end only so long."""
        if isinstance(entry, tuple):
            awaited = entry[AWAITED]
            there = awaited is None or awaited.ready()
        else:
            there = all(map(_is_ready, (entry.columns if isinstance(entry, Block) else entry).values()))
        if there:
            return False
        self._waits = time.time_ns() - _moment(entry) > self._flush_s * 1e9
        if not self.ending:
            return True
        self._give_up_at = self._give_up_at or time.monotonic() + LAST_WAIT_S
        return time.monotonic() < self._give_up_at

    def _prepare(self, table: str, entry: Row | Block) -> str | None:
        """Resolve staged values in place; why the event can't be kept, or None."""
        if table not in COLUMN_NAMES:
            return "there is no such table"
        columns = entry.columns if isinstance(entry, Block) else entry
        for column, value in columns.items():
            try:
                if type(value) in (Each, Cut):
                    if type(value.values) not in PLAIN and hasattr(value.values, "resolve"):
                        columns[column] = _with_values(value, value.values.resolve())
                elif type(value) not in PLAIN and hasattr(value, "resolve"):
                    columns[column] = value.resolve()
            except Exception as error:  # noqa: BLE001 (a lost device value is one drop)
                return f"column {column}: {reason(error)}"
        if not columns.keys() <= COLUMN_NAMES[table]:
            for column in columns.keys() - COLUMN_NAMES[table]:
                self._say_once(f"table {table} has no column {column}; it is left out")
        return None

    def _add(self, table: str, entry: Row | Block | Deferred) -> None:
        self._pending.setdefault(table, []).append(entry)
        if isinstance(entry, tuple):
            self._pending_rows += entry[ROWS]
        else:
            self._pending_rows += entry.rows if isinstance(entry, Block) else 1

    def _refuse(self, table: str, entry: Row | Block | Deferred, why: str) -> None:
        """Put a drop in the place of each event, so that seq stays dense."""
        if isinstance(entry, tuple):
            rows, first = entry[ROWS], entry[SEQ]
        else:
            first, rows = (entry.seq, entry.rows) if isinstance(entry, Block) else (entry["seq"], 1)
        t_ns = _moment(entry) or None
        for seq in range(first, first + rows):
            drop = {"table": _text(table), "rows": 1, "why": _text(why)}
            self._add("drop", {"seq": seq, "t_ns": t_ns, **drop})
        self._say_once(f"an event of table {table} was dropped: {why}")

    def _say_once(self, text: str) -> None:
        if text not in self._said and len(self._said) < 1000:
            self._said.add(text)
            self.say(_text(text), level="warning")

    def _flush(self) -> None:
        """Few large batches a table to the spool; a row that doesn't fit its table becomes a drop."""
        pending, self._pending, self._pending_rows = self._pending, {}, 0
        drops: list[Any] = pending.pop("drop", [])
        for table, entries in pending.items():
            for batch in self._batches(table, entries):
                self._log(table).append(batch)
                time.sleep(0)  # let the engine's thread have the interpreter
        drops += self._pending.pop("drop", [])
        self._pending_rows = 0
        if drops:
            self._log("drop").append(to_batch("drop", sorted(drops, key=lambda row: row["seq"])))

    def _batches(self, table: str, entries: Iterable[Row | Block | Deferred]) -> Iterator[pa.RecordBatch]:
        """Entries of one kind that follow one another make one batch."""
        for kind, run in groupby(entries, type):
            together: list[Any] = list(run)
            if kind is tuple:
                yield from self._deferred(table, together)
                continue
            try:
                yield (blocks_to_batch if kind is Block else to_batch)(table, together)
            except Exception:  # noqa: BLE001 (whatever a foreign object raises; now row by row)
                yield from self._sound(table, together)

    def _deferred(self, table: str, entries: list[Deferred]) -> Iterator[pa.RecordBatch]:
        """Events whose columns are made now: of all of them at once where `make` knows how, else one by one."""
        for make, run in groupby(entries, lambda entry: entry[MAKE]):
            part, found = list(run), None
            if len(part) > 1 and table in COLUMN_NAMES:
                found = made_together(table, part, make)
            if isinstance(found, pa.RecordBatch):
                yield found
                continue
            if found is not None:
                self._say_once(
                    f"events of table {table} could not be made together, so each is alone: {found}"
                )
            yield from self._batches(table, self._each_made(table, part))

    def _each_made(self, table: str, entries: list[Deferred]) -> Iterator[Block]:
        """One block each; what can't be kept becomes drops."""
        for entry in entries:
            block = made(table, entry)
            why = block if isinstance(block, str) else self._prepare(table, block)
            if isinstance(block, Block) and why is None:
                yield block
            else:
                self._refuse(table, entry, str(why))

    def _sound(self, table: str, entries: list[Row | Block]) -> Iterator[pa.RecordBatch]:
        """The rows that fit; each of the others becomes a drop."""
        good = []
        for entry in entries:
            try:
                rows = list(entry.as_rows()) if isinstance(entry, Block) else [entry]
            except Exception as error:  # noqa: BLE001 (a block whose columns don't fit together)
                self._refuse(table, entry, reason(error))
                continue
            for row in rows:
                if why := misfit(table, row):
                    self._refuse(table, row, why)
                else:
                    good.append(row)
        if good:
            yield to_batch(table, good)

    def _log(self, table: str) -> TableLog:
        if table not in self._logs:
            self._logs[table] = TableLog(self._folder, table)
        return self._logs[table]

    def _check_size(self) -> None:
        if self._max_bytes is None or time.monotonic() < self._size_at:
            return
        self._size_at = time.monotonic() + SIZE_EVERY_S
        if _size_on_disk(self._folder.parent) >= self._max_bytes:
            self._limit_reached(f"the limit of {quantity(self._max_bytes, 'byte')} was reached")


def _is_ready(value: Any) -> bool:
    """Whether a column's value needs no waiting."""
    values = value.values if type(value) in (Each, Cut) else value
    if type(values) in PLAIN:
        return True
    ready = getattr(values, "ready", None)
    return bool(ready()) if callable(ready) else True


def _with_values(value: Each | Cut, values: Any) -> Each | Cut:
    return Each(values) if isinstance(value, Each) else Cut(values, value.lengths, value.stride)


def _moment(entry: Row | Block | Deferred) -> int:
    """When an entry was recorded, ns; 0 if that can't be told."""
    if isinstance(entry, tuple):
        return entry[T_NS]
    t_ns = (entry.columns if isinstance(entry, Block) else entry)["t_ns"]
    return t_ns if type(t_ns) is int else 0


def _text(text: str) -> str:
    """Without lone surrogates, which no Arrow string can hold."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


def _size_on_disk(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # a temporary file may have gone
            size += path.stat().st_size
    return size
