"""The Arrow schemas, the dataclasses and the process's pools say the same."""

import dataclasses
import typing

import pyarrow as pa
import pytest

from speckv_debug.model.events import EVENTS, Ints
from speckv_debug.recording.schema import COMMON, SCHEMAS, TABLES

PYTHON = {
    pa.int32(): int,
    pa.int64(): int,
    pa.float32(): float,
    pa.bool_(): bool,
    pa.string(): str,
    pa.list_(pa.int32()): Ints,
    pa.list_(pa.int64()): Ints,
    pa.list_(pa.string()): tuple[str, ...],
}


def test_every_table_has_its_dataclass() -> None:
    assert set(EVENTS) == set(TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_columns_are_the_fields_in_order_and_type(table: str) -> None:
    hints = typing.get_type_hints(EVENTS[table])
    columns = {("of" if (table, f.name) == ("drop", "table") else f.name): f.type for f in SCHEMAS[table]}
    assert list(columns) == [field.name for field in dataclasses.fields(EVENTS[table])]
    for name, kind in columns.items():
        expected = PYTHON[kind] if name == "seq" else PYTHON[kind] | None
        assert hints[name] == expected, f"{table}.{name}"


@pytest.mark.parametrize("table", TABLES)
def test_the_common_columns_come_first(table: str) -> None:
    assert SCHEMAS[table].names[: len(COMMON)] == list(COMMON)
