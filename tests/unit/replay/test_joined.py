"""Columns of earlier events and of a window as one table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.joined import JoinedColumns
from speckv_debug.replay.ragged import NULL

KIND = pa.schema(
    [
        ("n", pa.int32()), ("t", pa.string()), ("f", pa.float32()), ("l", pa.list_(pa.int64())),
        ("s", pa.list_(pa.string())),
    ]
)  # fmt: skip
FIRST = [
    {"n": 1, "t": "b", "f": 0.5, "l": [1, 2], "s": ["x"]},
    {"n": None, "t": None, "f": None, "l": None, "s": None},
]
SECOND = [
    {"n": 3, "t": "a", "f": 1.5, "l": [], "s": []},
    {"n": 4, "t": "b", "f": 2.5, "l": [3], "s": ["y", "z"]},
]


def test_joined_columns_are_those_of_one_table() -> None:
    first, second = (pa.Table.from_pylist(rows, schema=KIND) for rows in (FIRST, SECOND))
    coded = second.set_column(1, "t", second.column("t").dictionary_encode())
    both, one = JoinedColumns(Columns(first), Columns(coded)), Columns(pa.concat_tables([first, second]))
    assert len(both) == 4 and both.has("n") and not both.has("m")
    assert both.ints("n").tolist() == one.ints("n").tolist() == [1, NULL, 3, 4]
    assert [both.texts("t")[i] for i in range(4)] == ["b", None, "a", "b"]
    assert len(set(both.texts("t").names)) == len(both.texts("t").names)
    assert np.array_equal(both.floats("f"), one.floats("f"))
    assert both.absent("l").tolist() == one.absent("l").tolist() == [False, True, False, False]
    assert [both.lists("l").tuple(i) for i in range(4)] == [(1, 2), None, (), (3,)]
    assert [both.strings("s", i) for i in range(4)] == [("x",), None, (), ("y", "z")]
    assert both.int_at("n", 1) is None and both.text_at("t", 3) == "b"
