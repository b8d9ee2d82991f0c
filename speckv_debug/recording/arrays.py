"""NumPy and Python values ↔ Arrow arrays, without the calls of pyarrow that import pandas if they can.

The first `pyarrow.array`, `to_numpy` or `empty_table` does so. It takes seconds, would happen in an engine,
and delay the first events past the promise.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.bool_]


def empty_table(schema: pa.Schema) -> pa.Table:
    """A table without rows (`Schema.empty_table` imports pandas too)."""
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def numbers(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """A column of integers or floats without nulls as NumPy values, read-only, not copied if in one chunk."""
    return np.from_dlpack(_one(column)) if len(column) else np.empty(0, column.type.to_pandas_dtype())


def filled(column: pa.Array | pa.ChunkedArray, null: int) -> npt.NDArray[Any]:
    """A column of integers as NumPy values, with `null` where it is null."""
    if not column.null_count:
        return numbers(column)
    array = _one(column)
    valid, data = array.buffers()
    values = np.frombuffer(data, array.type.to_pandas_dtype())[array.offset : array.offset + len(array)]
    return np.where(_mask(valid, array), values, values.dtype.type(null))


def flags(column: pa.Array | pa.ChunkedArray) -> Mask:
    """A column of booleans as NumPy values, False where it is null."""
    if not len(column):
        return np.empty(0, bool)
    array = _one(column)
    valid, data = array.buffers()
    return _mask(data, array) & _mask(valid, array) if array.null_count else _mask(data, array)


def words(array: pa.Array) -> list[str]:
    """A column of strings as Python has them, "" where it is null: one decoding for all of them where they are ASCII."""
    offsets, data = array.buffers()[1:]
    if not pa.types.is_string(array.type) or array.null_count or data is None:
        return ["" if word is None else word for word in array.to_pylist()]
    ends = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1].tolist()
    raw = memoryview(data)[ends[0] : ends[-1]].tobytes()
    if not raw.isascii():
        return list(array.to_pylist())
    text, first = raw.decode("ascii"), ends[0]
    return [text[start - first : end - first] for start, end in pairwise(ends)]


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column


def _mask(bits: pa.Buffer, array: pa.Array) -> Mask:
    unpacked = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
    return unpacked[array.offset : array.offset + len(array)].view(np.bool_)


def fixed_array(values: npt.NDArray[Any], kind: pa.DataType, valid: Mask | None = None) -> pa.Array:
    """Integers or floats (any byte width that is safe to cast to `kind`'s) as an Arrow array.

    Raises:
        OverflowError: An integer doesn't fit.
    """
    dtype = np.dtype(kind.to_pandas_dtype())
    if dtype.kind == "i" and len(values) and not np.can_cast(values.dtype, dtype):
        limits = np.iinfo(dtype)
        if int(values.max()) > limits.max or int(values.min()) < limits.min:
            raise OverflowError(f"out of the range of {kind}")
    data = np.ascontiguousarray(values, dtype)
    return pa.Array.from_buffers(kind, len(data), [_bits(valid), pa.py_buffer(data)])


def bool_array(values: Mask, valid: Mask | None = None) -> pa.Array:
    """Booleans as an Arrow array."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [_bits(valid), _bits(values)])


def string_array(values: list[str], valid: Mask | None = None) -> pa.Array:
    """Strings as an Arrow array; what stands where `valid` is false is left out.

    Raises:
        UnicodeEncodeError: A string holds a lone surrogate.
    """
    encoded = [value.encode("utf-8") for value in values]
    offsets = offsets_of(np.fromiter(map(len, encoded), np.int64, len(encoded)))
    data = pa.py_buffer(b"".join(encoded))
    return pa.Array.from_buffers(pa.string(), len(values), [_bits(valid), pa.py_buffer(offsets), data])


def list_array(
    lengths: npt.NDArray[np.int64], items: pa.Array, kind: pa.DataType, valid: Mask | None = None
) -> pa.Array:
    """Lists of the given lengths over the flat items."""
    buffers = [_bits(valid), pa.py_buffer(offsets_of(lengths))]
    return pa.Array.from_buffers(kind, len(lengths), buffers, children=[items])


def offsets_of(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Arrow's 32-bit offsets of consecutive pieces.

    Raises:
        OverflowError: They are too long for one array.
    """
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] >= 1 << 31:
        raise OverflowError("more than 2^31 items in one batch")
    return offsets.astype(np.int32)


def _bits(mask: Mask | None) -> pa.Buffer | None:
    return None if mask is None else pa.py_buffer(np.packbits(mask, bitorder="little"))
