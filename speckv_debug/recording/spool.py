"""The spool: Arrow IPC stream batches of one table that are not yet in a Parquet part.

A batch is one `write`, so a killed process leaves whole batches and at most one torn one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

FOLDER = "spool"
SUFFIX = ".arrows"


def spool_path(process_folder: Path, table: str) -> Path:
    """The spool file of a table."""
    return process_folder / FOLDER / f"{table}{SUFFIX}"


class SpoolFile:
    """Appends batches; `cut` forgets those that have become durable elsewhere."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.size = 0
        self._head = schema.serialize()
        self._batches: list[pa.Buffer] = []
        self._handle = -1

    def append(self, batch: pa.RecordBatch) -> None:
        """Write one batch; when this returns, the kernel has it."""
        if self._handle < 0:
            self._handle = self._begin(self.path)
        data = batch.serialize()
        self._batches.append(data)
        self.size += _write(self._handle, data)

    def cut(self, batches: int) -> None:
        """Drop the oldest batches; the file is replaced at once by one with the rest, or removed."""
        del self._batches[:batches]
        self.close()
        self.size = 0
        if not self._batches:
            self.path.unlink(missing_ok=True)
            return
        temporary = self.path.with_name(f".{self.path.name}.tmp")
        self._handle = self._begin(temporary)
        for data in self._batches:
            self.size += _write(self._handle, data)
        os.replace(temporary, self.path)

    def close(self) -> None:
        """Close the file and leave it as it is."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1

    def _begin(self, path: Path) -> int:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self.size = _write(handle, self._head)
        return handle


def _write(handle: int, data: pa.Buffer) -> int:
    view = memoryview(data)
    written = 0
    while written < len(view):
        written += os.write(handle, view[written:])
    return written


@dataclass(frozen=True, slots=True)
class SpoolContent:
    """Whole batches of a spool file, and what is behind them."""

    batches: tuple[pa.RecordBatch, ...]
    torn_bytes: int = 0
    why: str = ""


def read_spool(path: Path) -> SpoolContent:
    """Every whole batch; never raises for damage. A file that is not there is empty."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return SpoolContent(())
    except OSError as error:
        return SpoolContent((), 0, str(error))
    if not data:
        return SpoolContent(())
    source = pa.BufferReader(data)
    batches: list[pa.RecordBatch] = []
    end = 0
    try:
        reader = pa.ipc.open_stream(source)
        end = source.tell()
        while True:
            batch = reader.read_next_batch()
            batch.validate(full=True)
            batches.append(batch)
            end = source.tell()
    except StopIteration:
        if batches and "seq" not in batches[0].schema.names:
            return SpoolContent((), len(data), "it has no column seq")
        rest = len(data) - source.tell()
        return SpoolContent(tuple(batches), rest, "bytes after the end of the stream" if rest else "")
    except (pa.ArrowException, OSError, ValueError) as error:
        return SpoolContent(tuple(batches), len(data) - end, str(error).partition("\n")[0])
