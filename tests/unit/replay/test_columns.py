"""Tables as NumPy columns."""

from __future__ import annotations

import pyarrow as pa

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


def test_empty_tables_have_empty_columns() -> None:
    columns = Columns(SCHEMAS["accept"].empty_table())
    assert len(columns) == len(columns.ints("seq")) == len(columns.texts("request")) == 0
    assert len(columns.lists("accept_index")) == 0


def test_a_place_has_what_the_table_has() -> None:
    rows = [{"seq": 5, "step": 2, "row": 7, "epoch": 1, "start": 0, "slots": [1]}]
    columns = Columns(pa.Table.from_pylist(rows, schema=SCHEMAS["table_write"]))
    assert place_of(columns, 0) == Place(seq=5, step=2, row=7, epoch=1)
