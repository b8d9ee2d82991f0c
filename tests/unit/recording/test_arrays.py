"""NumPy ↔ Arrow without pandas: the same values as pyarrow's own conversions."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from speckv_debug.recording.arrays import (
    bool_array,
    filled,
    fixed_array,
    flags,
    list_array,
    numbers,
    string_array,
)


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.float32()])
@pytest.mark.parametrize("values", [[], [1], [3, None, 5], [None, None], list(range(70))])
def test_numbers_both_ways(kind: pa.DataType, values: list[Any]) -> None:
    array = pa.array([0, *values, None], kind).slice(1, len(values))
    valid = np.array([value is not None for value in values], bool)
    zeros = np.array([value or 0 for value in values])
    assert fixed_array(zeros, kind, valid).equals(array)
    assert filled(array, -7).tolist() == [-7 if value is None else value for value in values]
    assert filled(pa.chunked_array([array, array]), -7).tolist() == filled(array, -7).tolist() * 2
    assert filled(array, -7).dtype == kind.to_pandas_dtype()
    if all(valid):
        assert numbers(array).tolist() == values
    assert numbers(pa.chunked_array([], kind)).tolist() == []


@pytest.mark.parametrize("values", [[], [True], [None, False, True], [True, False] * 40])
def test_flags_both_ways(values: list[Any]) -> None:
    array = pa.array([True, *values], pa.bool_()).slice(1)
    valid = np.array([value is not None for value in values], bool)
    assert bool_array(np.array([bool(value) for value in values], bool), valid).equals(array)
    assert flags(array).tolist() == [bool(value) for value in values]
    assert flags(pa.chunked_array([array, array])).tolist() == [bool(value) for value in values] * 2


def test_strings_and_lists() -> None:
    assert string_array(["a", "", "日本"]).equals(pa.array(["a", "", "日本"]))
    assert string_array(["a", ""], np.array([True, False])).equals(pa.array(["a", None]))
    items = fixed_array(np.arange(3), pa.int64())
    lists = list_array(np.array([2, 0, 1]), items, pa.list_(pa.int64()), np.array([True, False, True]))
    assert lists.equals(pa.array([[0, 1], None, [2]], pa.list_(pa.int64())))


@pytest.mark.parametrize("value", [1 << 31, -(1 << 31) - 1])
def test_nothing_wraps_around(value: int) -> None:
    with pytest.raises(OverflowError, match="int32"):
        fixed_array(np.array([value]), pa.int32())
