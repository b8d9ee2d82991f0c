"""Parts of a table read one by one, with some columns, without what their statistics exclude; holes between events."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from speckv_debug.recording.order import holes
from speckv_debug.recording.parts import Within, read_part, write_part
from speckv_debug.recording.schema import SCHEMAS


def rows(first: int, slots: list[list[int] | None]) -> pa.Table:
    lines = [{"seq": first + i, "step": i, "slots": each} for i, each in enumerate(slots)]
    return pa.Table.from_pylist(lines, schema=SCHEMAS["alloc"])


def test_what_statistics_exclude_is_not_read(tmp_path: Path) -> None:
    write_part(tmp_path / "x.parquet", rows(5, [[3, 4], None, [9]]))

    def read(column: str, low: int, high: int) -> int:
        return int(read_part(tmp_path / "x.parquet", ["seq"], Within(column, low, high)).num_rows)

    assert [read("slots", 4, 5), read("slots", 5, 6), read("slots", 10, 20), read("slots", 0, 3)] == [
        3,
        3,
        0,
        0,
    ]
    assert [read("seq", 7, 8), read("seq", 8, 9)] == [3, 0]
    assert read("row", 1, 2) == 3  # nothing but nulls: no bounds to go by
    assert read("no_such_column", 1, 2) == 3


def test_a_file_without_statistics_is_read(tmp_path: Path) -> None:
    pq.write_table(rows(0, [[3]]), tmp_path / "x.parquet", write_statistics=False)
    assert read_part(tmp_path / "x.parquet", ["seq"], Within("slots", 8, 9)).num_rows == 1


@pytest.mark.parametrize(
    ("seqs", "found"),
    [
        ([], []),
        ([[]], []),
        ([[3, 4], [5]], []),
        ([[0, 3], [1, 7]], [(2, 3), (4, 7)]),
        ([[0, 2], [0, 2]], [(1, 2)]),
        ([[0], [1 << 40]], [(1, 1 << 40)]),
    ],
)
def test_holes_between_the_events_of_all_tables(seqs: list[list[int]], found: list[tuple[int, int]]) -> None:
    assert holes(np.array(seq, dtype=np.int64) for seq in seqs) == found
