"""Tables as NumPy columns."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL


def test_absent_values_are_null() -> None:
    table = pa.table({"n": pa.array([1, None], pa.int32()), "yes": pa.array([True, None]), "t": ["a", None]})
    columns = Columns(table)
    assert columns.ints("n").tolist() == [1, NULL]
    assert columns.flags("yes").tolist() == [1, NULL]
    assert [columns.texts("t")[0], columns.texts("t")[1]] == ["a", None]


def test_chunks_and_dictionaries_read_as_one_column() -> None:
    texts = pa.chunked_array([pa.array(["a", "b"]), pa.array(["b", None])])
    columns = Columns(pa.table({"plain": texts, "coded": texts.dictionary_encode()}))
    for name in ("plain", "coded"):
        assert columns.texts(name).equal("b").tolist() == [False, True, True, False]
        assert columns.texts(name).known.tolist() == [True, True, True, False]


def test_a_list_with_an_item_missing_is_absent() -> None:
    slots = pa.array([[1, 2], [3, None], None, [], [4]], pa.list_(pa.int64()))
    names = pa.array([["k"], [None], ["v", None], None, ["k", "v"]], pa.list_(pa.string()))
    columns = Columns(pa.table({"slots": slots, "names": names}))
    assert [columns.lists("slots").tuple(i) for i in range(5)] == [(1, 2), None, None, (), (4,)]
    assert columns.absent("slots").tolist() == [False, True, True, False, False]
    assert columns.absent("names").tolist() == [False, True, True, True, False]
    part = Columns(pa.table({"slots": slots}).slice(1, 4))
    assert [part.lists("slots").tuple(i) for i in range(4)] == [None, None, (), (4,)]


LISTS = st.lists(st.one_of(st.none(), st.lists(st.integers(-9, 9), max_size=3)), max_size=6)


@given(
    chunks=st.lists(LISTS, max_size=3),
    cut=st.integers(0, 6),
    narrow=st.booleans(),
    gone=st.sets(st.integers(0, 5)),
)
def test_lists_are_those_that_arrow_has(
    chunks: list[list[list[int] | None]], cut: int, narrow: bool, gone: set[int]
) -> None:
    kind = pa.list_(pa.int32() if narrow else pa.int64())
    column = pa.chunked_array([pa.array(chunk, kind) for chunk in chunks], kind)[cut:]
    if len(column) and not column.null_count and gone:  # lists that are not there, with items all the same
        whole = pa.concat_arrays(column.chunks)
        valid = pa.array([at not in gone for at in range(len(whole))]).buffers()[1]
        shifted = pa.array([None] * whole.offset + [at not in gone for at in range(len(whole))])
        bits = shifted.buffers()[1] if whole.offset else valid
        buffers = [bits, whole.buffers()[1]]
        column = pa.chunked_array(
            [
                pa.ListArray.from_buffers(
                    kind, len(whole), buffers, offset=whole.offset, children=[whole.values]
                )
            ]
        )
    lists = Columns(pa.table({"slots": column})).lists("slots")
    assert [lists.tuple(i) for i in range(len(lists))] == [
        None if value is None else tuple(value) for value in column.to_pylist()
    ]
    assert lists.offsets[0] == 0 and lists.offsets[-1] == len(lists.values)


def test_lists_that_are_all_absent() -> None:
    lists = Columns(pa.table({"slots": pa.nulls(3, pa.list_(pa.int64()))})).lists("slots")
    assert [lists.tuple(i) for i in range(3)] == [None] * 3


def test_empty_tables_have_empty_columns() -> None:
    columns = Columns(SCHEMAS["accept"].empty_table())
    assert len(columns) == len(columns.ints("seq")) == len(columns.texts("request")) == 0
    assert len(columns.lists("accept_index")) == 0


def test_a_place_has_what_the_table_has() -> None:
    rows = [{"seq": 5, "step": 2, "row": 7, "epoch": 1, "start": 0, "slots": [1]}]
    columns = Columns(pa.Table.from_pylist(rows, schema=SCHEMAS["table_write"]))
    assert place_of(columns, 0) == Place(seq=5, step=2, row=7, epoch=1)
