"""Rows as the frozen dataclasses of the model: for viewers and small spans, never for whole recordings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from speckv_debug.model.events import EVENTS, Event
from speckv_debug.recording.order import EventBatch
from speckv_debug.recording.schema import SCHEMAS, TABLES

LISTS = {name: [f.name for f in schema if pa.types.is_list(f.type)] for name, schema in SCHEMAS.items()}


def events_of(batch: EventBatch) -> Iterator[Event]:
    """The batch's events in ascending seq."""
    rows = {name: table.to_pylist() for name, table in batch.tables.items()}
    for number, index in zip(batch.order.table.tolist(), batch.order.index.tolist(), strict=True):
        yield event_from(TABLES[number], rows[TABLES[number]][index])


def event_from(table: str, row: dict[str, Any]) -> Event:
    """One row as an event; the `table` column of a drop is the field `of`."""
    for name in LISTS[table]:
        if row[name] is not None:
            row[name] = tuple(row[name])
    if table == "drop":
        row["of"] = row.pop("table")
    return EVENTS[table](**row)
