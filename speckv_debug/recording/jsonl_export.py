"""A recording → JSON Lines: readable, complete, and import makes the same recording of it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from speckv_debug.recording.atomic import beside, float_name, is_stream, jsonable, remove, swap_in, unwritable
from speckv_debug.recording.loss import undamaged
from speckv_debug.recording.order import EventBatch
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.recording.schema import SCHEMAS, TABLES
from speckv_debug.recording.slot_ranges import SLOT_LISTS, shorten
from speckv_debug.recording.text_stream import text_output

FLOATS = {name: [f.name for f in schema if pa.types.is_floating(f.type)] for name, schema in SCHEMAS.items()}
SLOTS = {name: [c for c in schema.names if c in SLOT_LISTS] for name, schema in SCHEMAS.items()}
BATCH_EVENTS = 8_192
ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def export_jsonl(recording: Recording, out: Path | TextIO) -> int:
    """Write the recording line, then each process line with its events in order of seq; nulls are left out.

    All files are read before a process line is written: it does not list tables as whole of which a file is damaged.

    Args:
        out: A stream, a named pipe or device, or a file, which is whole or not there; .gz, .xz and .zst are compressed.

    Returns:
        The number of events written.

    Raises:
        RecordingError: The file can't be written.
    """
    if not isinstance(out, Path):
        return _export(recording, out)
    straight = is_stream(out)
    temporary = beside(out, f"export{out.suffix}")
    try:
        with text_output(out if straight else temporary) as text:
            count = _export(recording, text)
        if not straight:
            swap_in(temporary, out)
    except OSError as error:
        raise unwritable(out, error) from error
    finally:
        remove(temporary)
    return count


def _export(recording: Recording, out: TextIO) -> int:
    events = 0
    if recording.manifest:
        write_line(out, header("recording", recording.manifest))
    for process in recording.processes:
        write_line(out, header("process", readable(process)))
        for batch in process.batches(BATCH_EVENTS):
            for line in lines_of(batch):
                write_line(out, line)
            events += len(batch.order)
        process.forget()
    return events


def readable(process: ProcessRecording) -> Mapping[str, Any]:
    """The content of process.json, with the tables that it calls whole only if no file of them is damaged.

    Missing events show as holes in the numbers, in the export as in the recording.
    """
    process.verify()
    whole = undamaged(process)
    return process.info.raw if whole == process.info.tables else {**process.info.raw, "tables": list(whole)}


def header(name: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    """The line of a manifest or a process, with what its file says."""
    fields = {key: value for key, value in jsonable(raw).items() if key not in ("event", "seq")}
    return {"event": name, **fields}


def write_line(out: TextIO, line: Mapping[str, Any]) -> None:
    """One line of JSON."""
    out.write(ENCODER.encode(line) + "\n")


def lines_of(batch: EventBatch) -> Iterator[dict[str, Any]]:
    """The events of a batch in their order, absent values left out."""
    rows = {name: table.to_pylist() for name, table in batch.tables.items()}
    for number, index in zip(batch.order.table.tolist(), batch.order.index.tolist(), strict=True):
        name = TABLES[number]
        yield _line(name, rows[name][index])


def _line(table: str, row: dict[str, Any]) -> dict[str, Any]:
    for column in SLOTS[table]:
        if row[column] is not None:
            row[column] = shorten(row[column])
    for column in FLOATS[table]:
        if row[column] is not None and not math.isfinite(row[column]):
            row[column] = float_name(row[column])
    return {"event": table, **{name: value for name, value in row.items() if value is not None}}
