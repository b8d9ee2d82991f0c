"""Python values of events → Arrow columns of a table, in few large calls and without guessing.

Strict where Arrow is not: a float is no integer, a bool is no number, nothing is wrapped around.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from speckv_debug.recording.schema import SCHEMAS

NONE = type(None)
Row = dict[str, Any]


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
    """One column; lists may be lists, tuples or NumPy arrays."""
    if pa.types.is_list(kind):
        return _list_column(values, kind)
    return pa.array(_checked(values, kind), kind)


def _list_column(values: list[Any], kind: pa.DataType) -> pa.Array:
    absent = np.fromiter((value is None for value in values), bool, len(values))
    lengths = np.fromiter((0 if value is None else len(value) for value in values), np.int64, len(values))
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] >= 1 << 31:
        raise OverflowError("more than 2^31 list items in one batch")
    items = _items([value for value in values if value is not None], kind.value_type)
    mask = pa.array(absent) if absent.any() else None
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), items, type=kind, mask=mask)


def _items(lists: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_integer(kind) and any(isinstance(each, np.ndarray) for each in lists):
        arrays = [_integers(each) for each in lists]
        return pa.array(np.concatenate(arrays), kind)
    if any(isinstance(each, (str, bytes)) for each in lists):
        raise TypeError("a list was expected, not a string")
    flat = list(chain.from_iterable(lists))
    if None in flat:
        raise TypeError("a list holds None")
    return pa.array(_checked(flat, kind), kind)


def _integers(values: Any) -> np.ndarray[Any, Any]:
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind not in "iu":
            raise TypeError(f"a flat array of integers was expected, not {values.dtype} {values.shape}")
        return values
    return np.array(_checked(list(values), pa.int64()), np.int64)


def _checked(values: list[Any], kind: pa.DataType) -> list[Any]:
    types = set(map(type, values)) - {NONE}
    if pa.types.is_integer(kind):
        return values if types <= {int} else [_plain(value, (int, np.integer), int) for value in values]
    if pa.types.is_floating(kind):
        return (
            values if types <= {float, int} else [_plain(v, (float, int, np.floating), float) for v in values]
        )
    if pa.types.is_boolean(kind):
        return values if types <= {bool} else [_plain(value, (bool, np.bool_), bool) for value in values]
    return values if types <= {str} else [_plain(value, (str,), str) for value in values]


def _plain(value: Any, allowed: tuple[type, ...], to: type) -> Any:
    if value is None:
        return None
    if not isinstance(value, allowed) or (to is not bool and isinstance(value, bool)):
        raise TypeError(f"{type(value).__name__} where {to.__name__} was expected")
    return str.__str__(value) if to is str else to(value)
