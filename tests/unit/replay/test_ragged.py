"""Ragged columns against plain Python lists."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Ragged, all_distinct, joined, packed

LISTS = st.lists(st.none() | st.lists(st.integers(-(2**40), 2**40), max_size=5), max_size=8)


def ragged(lists: list[list[int] | None]) -> Ragged:
    return Columns(pa.table({"x": pa.array(lists, pa.list_(pa.int64()))})).lists("x")


@given(LISTS)
def test_lists_come_back(lists: list[list[int] | None]) -> None:
    column = ragged(lists)
    assert [column.tuple(i) for i in range(len(column))] == [None if v is None else tuple(v) for v in lists]
    assert column.lengths.tolist() == [len(v or ()) for v in lists]


@given(LISTS, LISTS)
def test_joining_and_taking_keep_the_lists(
    first: list[list[int] | None], second: list[list[int] | None]
) -> None:
    both = joined(ragged(first), ragged(second))
    backwards = np.arange(len(both))[::-1]
    expected = [None if v is None else tuple(v) for v in [*first, *second]]
    assert [both.take(backwards).tuple(i) for i in range(len(both))] == expected[::-1]


@given(LISTS)
def test_owners_and_places_find_each_value(lists: list[list[int] | None]) -> None:
    column = ragged(lists)
    assert column.at(column.owners, column.within).tolist() == column.values.tolist()


def test_a_place_outside_its_list_is_null() -> None:
    column = ragged([[7, 8], None, []])
    found = column.at(np.array([0, 0, 0, 1, 2]), np.array([1, 2, -1, 0, 0]))
    assert found.tolist() == [8, NULL, NULL, NULL, NULL]


def test_a_slice_of_a_larger_table_keeps_its_own_values() -> None:
    table = pa.table({"x": pa.array([[1], [2, 3], None, [4]], pa.list_(pa.int64()))}).slice(1, 3)
    assert Columns(table).lists("x").values.tolist() == [2, 3, 4]


PAIRS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from((-(1 << 40), -1, 0, 1, 7, 1 << 31))), max_size=12
)


@given(PAIRS)
def test_pairs_are_packed_apart_or_not_at_all(pairs: list[tuple[int, int]]) -> None:
    group, value = (
        (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True)) if pairs else [EMPTY] * 2
    )
    keys, wide = (
        packed(group, value),
        pairs and max(v for _, v in pairs) - min(v for _, v in pairs) >= 1 << 32,
    )
    assert (keys is None) == bool(wide)
    if keys is not None:
        assert len(set(keys.tolist())) == len(set(pairs))
        assert all_distinct(group, value) == (len(set(pairs)) == len(pairs))


EMPTY = np.empty(0, dtype=np.int64)
