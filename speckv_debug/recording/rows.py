"""Python values of events → Arrow columns of a table, in few large calls and without guessing.

Strict where Arrow is not: a float is no integer, a bool is no number, nothing is wrapped around.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from speckv_debug.recording.arrays import Mask, bool_array, fixed_array, list_array, string_array
from speckv_debug.recording.schema import SCHEMAS

Row = dict[str, Any]
NONE = type(None)


def to_batch(table: str, rows: Sequence[Row]) -> pa.RecordBatch:
    """Rows (column → value, absent means null) as one batch of the table's schema.

    Raises:
        TypeError, ValueError, OverflowError: A value doesn't fit its column.
    """
    schema = SCHEMAS[table]
    columns = [to_column([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def misfit(table: str, row: Row) -> str | None:
    """Name and complaint of the first column whose value doesn't fit, or None."""
    for field in SCHEMAS[table]:
        try:
            to_column([row.get(field.name)], field.type)
        except Exception as error:  # noqa: BLE001 (whatever a foreign object raises)
            kind = type(row.get(field.name)).__name__
            return f"column {field.name}: {kind} is no {field.type} ({str(error)[:120]})"
    return None


def to_column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """One column, None as null; lists may be lists, tuples or NumPy arrays."""
    count = list(map(type, values)).count(NONE)
    if count == len(values):
        return pa.nulls(count, kind)
    valid = np.fromiter((value is not None for value in values), bool, len(values)) if count else None
    if pa.types.is_list(kind):
        return _list_column(values, kind, valid)
    return _flat_column(values, kind, valid)


def _list_column(values: list[Any], kind: pa.DataType, valid: Mask | None) -> pa.Array:
    lists = values if valid is None else [value for value in values if value is not None]
    if any(isinstance(each, (str, bytes, dict)) for each in lists):
        raise TypeError("a list was expected")
    lengths = np.zeros(len(values), np.int64)
    lengths[slice(None) if valid is None else valid] = list(map(len, lists))
    return list_array(lengths, _items(lists, kind.value_type), kind, valid)


def _items(lists: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_integer(kind) and any(isinstance(each, np.ndarray) for each in lists):
        return fixed_array(np.concatenate([_integers(each) for each in lists]), kind)
    flat = list(chain.from_iterable(lists))
    if None in flat:
        raise TypeError("a list holds None")
    return _flat_column(flat, kind, None)


def _integers(values: Any) -> npt.NDArray[Any]:
    if not isinstance(values, np.ndarray):
        return np.array(_checked(list(values), int, (int, np.integer)), np.int64)
    if values.shape == (0,):
        return np.empty(0, np.int64)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise TypeError(f"a flat array of integers was expected, not {values.dtype} {values.shape}")
    if values.dtype == np.uint64 and int(values.max()) >= 1 << 63:
        raise OverflowError("out of the range of int64")
    return values.astype(np.int64) if values.dtype == np.uint64 else values


def _flat_column(values: list[Any], kind: pa.DataType, valid: Mask | None) -> pa.Array:
    if pa.types.is_integer(kind):
        return fixed_array(np.array(_checked(values, int, (int, np.integer)), np.int64), kind, valid)
    if pa.types.is_floating(kind):
        numbers = _checked(values, float, (float, int, np.floating))
        with np.errstate(over="ignore"):
            return fixed_array(np.array(numbers, np.float64).astype(np.float32), kind, valid)
    if pa.types.is_boolean(kind):
        return bool_array(np.array(_checked(values, bool, (bool, np.bool_)), bool), valid)
    return string_array(_checked(values, str, (str,)), valid)


def _checked(values: list[Any], to: type, allowed: tuple[type, ...]) -> list[Any]:
    """The values in exactly the type `to`, None as its zero."""
    if list(map(type, values)).count(to) == len(values):
        return values
    return [to() if value is None else _plain(value, to, allowed) for value in values]


def _plain(value: Any, to: type, allowed: tuple[type, ...]) -> Any:
    if not isinstance(value, allowed) or (to is not bool and isinstance(value, bool)):
        raise TypeError(f"{type(value).__name__} where {to.__name__} was expected")
    return str.__str__(value) if to is str else to(value)
