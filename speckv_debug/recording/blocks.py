"""Rows that were recorded together, column by column, and many such blocks → one Arrow batch in few large calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from speckv_debug.recording.arrays import fixed_array, list_array
from speckv_debug.recording.rows import Row, to_column
from speckv_debug.recording.schema import SCHEMAS

Int64s = npt.NDArray[np.int64]


@dataclass(slots=True)
class Each:
    """A column with a value of its own in every row of a block.

    Attributes:
        values: One a row: a list (None for null), a 1-D array, or what resolves to one of them. A list that several
            blocks share (the same object) is converted once.
    """

    values: Any


@dataclass(slots=True)
class Cut:
    """A list column whose lists lie one after another in one array.

    Attributes:
        values: 1-D array of integers, or what resolves to one.
        lengths: Values a row: one number for all rows, or one number each.
        stride: Distance between the first values of two rows, where that is more than the length.
    """

    values: Any
    lengths: int | Sequence[int]
    stride: int | None = None

    def flat(self, rows: int) -> npt.NDArray[Any]:
        """The values of all rows, without what lies between them."""
        values = np.asarray(self.values)
        if self.stride is None:
            return values[: rows * self.lengths] if isinstance(self.lengths, int) else values
        grid = values[: rows * self.stride].reshape(rows, self.stride)
        if isinstance(self.lengths, int):
            return grid[:, : self.lengths].reshape(-1)
        return grid[np.arange(self.stride) < np.asarray(self.lengths)[:, None]]


@dataclass(slots=True)
class Block:
    """Consecutive events of one table, recorded in one call.

    Attributes:
        rows: How many; they take the positions from `seq` on.
        columns: Column → `Each`, `Cut`, or one value that holds for every row.
    """

    table: str
    rows: int
    columns: dict[str, Any] = field(default_factory=dict)
    seq: int = 0

    def as_rows(self) -> Iterator[Row]:
        """The same rows one by one."""
        lists = {name: _per_row(value, self.rows) for name, value in self.columns.items()}
        for index in range(self.rows):
            yield {"seq": self.seq + index, **{name: values[index] for name, values in lists.items()}}


def blocks_to_batch(
    table: str, blocks: Sequence[Block], whole: Mapping[str, Each | Cut] = MappingProxyType({})
) -> pa.RecordBatch:
    """Resolved blocks of one table as one batch of its schema.

    Args:
        table: Name of the event table.
        blocks: Consecutive ones.
        whole: Columns that are there for the rows of all blocks together.

    Raises:
        TypeError, ValueError, OverflowError: A value doesn't fit its column.
    """
    schema, counts = SCHEMAS[table], np.array([block.rows for block in blocks], np.int64)
    columns = []
    for each in schema:
        if each.name in whole:
            columns.append(_column([whole[each.name]], counts.sum(keepdims=True), each.type))
        elif each.name == "seq":
            columns.append(_sequence(np.array([block.seq for block in blocks], np.int64), counts))
        else:
            columns.append(_column([block.columns.get(each.name) for block in blocks], counts, each.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _sequence(first: Int64s, counts: Int64s) -> pa.Array:
    return fixed_array(np.repeat(first, counts) + _within(counts), pa.int64())


def _within(counts: Int64s) -> Int64s:
    """0, 1, … in each block."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def _column(values: list[Any], counts: Int64s, kind: pa.DataType) -> pa.Array:
    kinds = set(map(type, values))
    if Cut in kinds:
        return _lists(values, counts, kind)
    if Each in kinds:
        return _scalars(values, counts, kind)
    column = to_column(values, kind)
    if kinds == {type(None)}:
        return pa.nulls(int(counts.sum()), kind)
    return column if counts.max() == 1 else _taken(column, np.repeat(np.arange(len(values)), counts))


def _scalars(values: list[Any], counts: Int64s, kind: pa.DataType) -> pa.Array:
    if pa.types.is_integer(kind) and all(map(_is_array, values)):
        return fixed_array(_of_all(np.concatenate([value.values for value in values]), counts.sum()), kind)
    owned = [
        value.values if type(value) is Each else [value] * n for value, n in zip(values, counts, strict=True)
    ]
    different = {id(each): each for each in owned}
    flat = list(chain.from_iterable(map(_listed, different.values())))
    if len(different) == len(owned):
        return to_column(_of_all(flat, counts.sum()), kind)
    lengths = [len(each) for each in different.values()]
    starts = dict(zip(different, np.cumsum([0, *lengths[:-1]]).tolist(), strict=True))
    at = np.repeat(np.array([starts[id(each)] for each in owned], np.int64), counts) + _within(counts)
    return _taken(to_column(flat, kind), at)


def _lists(values: list[Any], counts: Int64s, kind: pa.DataType) -> pa.Array:
    parts, lengths, valid = [], [], np.ones(int(counts.sum()), bool)
    for value, rows, end in zip(values, counts.tolist(), np.cumsum(counts).tolist(), strict=True):
        if type(value) is Cut:
            parts.append(_integers(value.flat(rows)))
            lengths.append(np.broadcast_to(np.asarray(value.lengths, np.int64), rows))
        elif type(value) is Each:
            lists = _of_all(value.values, rows)
            valid[end - rows : end] = [each is not None for each in lists]
            parts += [_integers(np.asarray(each if each is not None else (), np.int64)) for each in lists]
            lengths.append(np.array([len(each or ()) for each in lists], np.int64))
        else:
            valid[end - rows : end] = value is not None
            parts += [_integers(np.asarray(value or (), np.int64))] * rows
            lengths.append(np.full(rows, len(value or ()), np.int64))
    flat, of_each = np.concatenate(parts), np.concatenate(lengths)
    if of_each.sum() != len(flat):
        raise ValueError(f"lists of {of_each.sum()} values in all, but there are {len(flat)}")
    items = fixed_array(flat, kind.value_type)
    return list_array(of_each, items, kind, None if valid.all() else valid)


def _integers(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.ndim != 1 or values.dtype.kind != "i":
        raise TypeError(f"a flat array of integers was expected, not {values.dtype} {values.shape}")
    return values


def _is_array(value: Any) -> bool:
    return type(value) is Each and isinstance(value.values, np.ndarray) and value.values.dtype.kind == "i"


def _listed(values: Any) -> Any:
    return values.tolist() if isinstance(values, np.ndarray) else values


def _of_all(values: Any, rows: int) -> Any:
    if len(values) != rows:
        raise ValueError(f"{len(values)} values for {rows} rows")
    return values


def _taken(column: pa.Array, at: Int64s) -> pa.Array:
    return column.take(fixed_array(at, pa.int64()))


def _per_row(value: Any, rows: int) -> Sequence[Any]:
    if type(value) is Each:
        return list(_of_all(_listed(value.values), rows))
    if type(value) is not Cut:
        return [value] * rows
    lengths = [value.lengths] * rows if isinstance(value.lengths, int) else list(value.lengths)
    ends = np.cumsum(lengths).tolist()
    flat = value.flat(rows).tolist()
    return [flat[end - length : end] for end, length in zip(ends, lengths, strict=True)]
