"""The reader: one ordered stream, whatever happened to the files, and they stay as they are."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from speckv_debug.errors import RecordingError
from speckv_debug.recording.parts import write_part
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.recording.rows import to_batch
from speckv_debug.recording.schema import SCHEMAS, TABLES
from speckv_debug.recording.spool import SpoolFile

Write = Callable[..., Path]


def rows_of(table: str, seqs: list[int]) -> pa.RecordBatch:
    """Rows whose step is their seq."""
    return to_batch(table, [{"seq": seq, "step": seq} for seq in seqs])


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Lay out a recording file by file: `parts` and `spool` are table → lists of seqs, one a file or batch."""

    def write(
        parts: dict[str, list[list[int]]] | None = None,
        spool: dict[str, list[list[int]]] | None = None,
        process: dict[str, Any] | None = None,
        manifest: dict[str, Any] | None = None,
    ) -> Path:
        folder = tmp_path / "r.speckv/tp0-pp0-dp0-1"
        (folder / "spool").mkdir(parents=True)
        (folder.parent / "manifest.json").write_text(json.dumps(manifest or {"format_version": 1}))
        (folder / "process.json").write_text(json.dumps(process or {"clean_shutdown": False}))
        for table, files in (parts or {}).items():
            (folder / table).mkdir()
            for number, seqs in enumerate(files):
                write_part(folder / table / f"{number:05}.parquet", pa.table(rows_of(table, seqs)))
        for table, batches in (spool or {}).items():
            file = SpoolFile(folder / f"spool/{table}.arrows", SCHEMAS[table])
            for seqs in batches:
                file.append(rows_of(table, seqs))
            file.close()
        return folder

    return write


def opened(folder: Path) -> ProcessRecording:
    """The only process of the recording."""
    (process,) = Recording.open(folder.parent).processes
    return process


def content(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file's bytes and time of change."""
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


def stream(process: ProcessRecording, max_events: int) -> list[tuple[int, str, int]]:
    """(seq, table, step) of each event, through `batches`."""
    events = []
    for batch in process.batches(max_events):
        assert 0 < len(batch.order) <= max_events
        assert (batch.first_seq, batch.last_seq) == (batch.order.seq[0], batch.order.seq[-1])
        for seq, table, index in zip(batch.order.seq, batch.order.table, batch.order.index, strict=True):
            row = batch.tables[TABLES[table]].slice(index, 1).to_pylist()[0]
            assert row["seq"] == seq
            events.append((int(seq), TABLES[table], row["step"]))
    return events


def test_parts_and_spool_are_one_stream(write: Write) -> None:
    folder = write(
        {"alloc": [[0, 2], [3, 7]], "free": [[1, 4, 5, 6]]}, {"alloc": [[8, 9], [11]], "note": [[10]]}
    )
    process = opened(folder)
    assert process.present == ("alloc", "free", "note")
    assert process.table("alloc").column("seq").to_pylist() == [0, 2, 3, 7, 8, 9, 11]
    assert process.table("alloc").schema == SCHEMAS["alloc"]
    order = process.order()
    assert order.seq.tolist() == list(range(12)) and order.table.dtype == np.int16
    assert [TABLES[t] for t in order.table[:4]] == ["alloc", "free", "alloc", "alloc"]
    assert order.index.tolist() == [0, 0, 1, 2, 1, 2, 3, 3, 4, 5, 0, 6]
    expected = [(int(s), TABLES[t], int(s)) for s, t in zip(order.seq, order.table, strict=True)]
    for size in (1, 3, 100):
        assert stream(process, size) == expected
    assert [event.seq for event in process.events(3, 8)] == [3, 4, 5, 6, 7, 8]
    assert [event.seq for event in process.events(last_seq=1)] == [0, 1]
    assert [event.seq for event in process.events(first_seq=11)] == [11]
    assert list(process.events(5, 4)) == []
    assert process.gaps() == []


def test_an_absent_table_is_empty(write: Write) -> None:
    process = opened(write({"alloc": [[0]]}))
    assert process.table("move").num_rows == 0 and process.table("move").schema == SCHEMAS["move"]
    assert process.columns("move", "src").column_names == ["seq", "src"]
    with pytest.raises(KeyError, match="no table nothing"):
        process.table("nothing")


def test_a_crash_between_sealing_and_cutting_neither_loses_nor_repeats(write: Write) -> None:
    folder = write({"alloc": [[0, 1], [2, 3]]}, {"alloc": [[2, 3], [4, 5]]})
    process = opened(folder)
    assert process.table("alloc").column("seq").to_pylist() == [0, 1, 2, 3, 4, 5]
    assert [event[0] for event in stream(process, 2)] == [0, 1, 2, 3, 4, 5]
    assert len(process.order()) == process.rows == 6


def test_rows_out_of_order_are_sorted(write: Write) -> None:
    process = opened(write({"alloc": [[5, 1], [3, 0]]}, {"alloc": [[4, 2]]}))
    assert process.table("alloc").column("seq").to_pylist() == [0, 1, 2, 3, 4, 5]
    assert [event[0] for event in stream(process, 4)] == [0, 1, 2, 3, 4, 5]


def test_a_spool_torn_at_any_byte_gives_its_whole_batches(write: Write) -> None:
    folder = write({}, {"alloc": [[0, 1], [2], [3, 4, 5]]})
    path = folder / "spool/alloc.arrows"
    data = path.read_bytes()
    head = len(SCHEMAS["alloc"].serialize())
    sizes = [len(rows_of("alloc", seqs).serialize()) for seqs in ([0, 1], [2], [3, 4, 5])]
    whole = {0: 0, head: 0, head + sizes[0]: 2, head + sum(sizes[:2]): 3, len(data): 6}
    for size in sorted({*range(0, len(data), 7), *whole}):
        path.write_bytes(data[:size])
        process = opened(folder)
        rows = max(rows for end, rows in whole.items() if end <= size)
        assert process.table("alloc").column("seq").to_pylist() == list(range(rows)), size
        torn = [problem.tables for problem in process.problems if problem.kind == "torn_spool"]
        assert torn == ([] if size in whole else [("alloc",)]), size


def test_garbage_behind_the_last_batch_is_said(write: Write) -> None:
    folder = write({}, {"alloc": [[0, 1]]})
    with (folder / "spool/alloc.arrows").open("ab") as file:
        file.write(bytes(64))
    process = opened(folder)
    assert process.table("alloc").num_rows == 2
    problem = next(problem for problem in process.problems if problem.kind == "torn_spool")
    assert (
        problem.after_seq == 1
        and problem.tables == ("alloc",)
        and "2 rows before that are used" in problem.what
    )


@pytest.mark.parametrize("damage", ["truncated", "header", "footer", "emptied"])
def test_a_damaged_part_is_named_and_the_rest_used(write: Write, damage: str) -> None:
    folder = write({"alloc": [[0, 2], [3, 5], [6, 8]], "free": [[1, 4, 7]]}, process={"clean_shutdown": True})
    path = folder / "alloc/00001.parquet"
    data = path.read_bytes()
    damaged = {"truncated": data[:200], "header": b"x" * 4 + data[4:], "footer": data[:-20] + bytes(20)}
    path.write_bytes(damaged.get(damage, b""))
    if damage == "header":
        path.write_bytes(b"\xff" * 300 + data[300:])
    process = opened(folder)
    assert process.table("alloc").column("seq").to_pylist() == [0, 2, 6, 8]
    (problem,) = process.problems
    assert (problem.kind, problem.tables) == ("damaged_part", ("alloc",))
    assert problem.where == "tp0-pp0-dp0-1/alloc/00001.parquet"
    assert (problem.after_seq, problem.before_seq, problem.rows) == (2, 6, 2)
    assert "after event 2 and before event 6" in problem.what and "2 events" in problem.what
    assert process.gaps() == [(3, 4), (5, 6)]


def test_a_flipped_bit_never_changes_a_value(write: Write) -> None:
    folder = write({"alloc": [list(range(1000)), list(range(1000, 1010))]}, process={"clean_shutdown": True})
    path = folder / "alloc/00000.parquet"
    data = path.read_bytes()
    column = pq.read_metadata(path).row_group(0).column(1)
    found = 0
    for at in range(column.data_page_offset, column.data_page_offset + column.total_compressed_size):
        path.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        process = opened(folder)
        steps = process.table("alloc").column("step").to_pylist()
        damaged = [problem.tables for problem in process.problems] == [("alloc",)]
        assert steps == list(range(1000 * damaged, 1010)), at
        found += damaged
    assert found > column.total_compressed_size // 2


def test_damage_that_only_reading_shows_leaves_order_and_tables_in_step(write: Write) -> None:
    folder = write({"alloc": [list(range(1000)), list(range(1000, 1010))]}, process={"clean_shutdown": True})
    path = folder / "alloc/00000.parquet"
    data = bytearray(path.read_bytes())
    column = pq.read_metadata(path).row_group(0).column(1)
    data[column.data_page_offset + column.total_compressed_size - 1] ^= 4
    path.write_bytes(data)
    process = opened(folder)
    assert process.problems == () and process.last_seq == 1009
    assert process.order().index.tolist() == list(range(10))
    assert process.table("alloc").num_rows == 10 and len(process.seqs["alloc"]) == 10
    assert [problem.tables for problem in process.problems] == [("alloc",)]
    assert [problem.tables for problem in opened(folder).verify()] == [("alloc",)]


def test_an_interrupted_flush_ends_the_stream_at_its_first_hole(write: Write) -> None:
    folder = write({"alloc": [[0, 1]]}, {"alloc": [[4, 5], [7, 9]], "free": [[2, 3, 6], [11]], "note": [[8]]})
    process = opened(folder)
    assert process.order().seq.tolist() == list(range(10))
    assert process.gaps() == []
    (problem,) = process.problems
    assert problem.kind == "missing_end" and problem.after_seq == 9
    assert "1 of them lies behind event 10" in problem.what and "9 events" in problem.what


def test_a_real_hole_stays_a_gap(write: Write) -> None:
    process = opened(write({"alloc": [[0, 1]]}, {"alloc": [[5], [6]], "free": [[7, 8]]}))
    assert process.order().seq.tolist() == [0, 1, 5, 6, 7, 8]
    assert process.gaps() == [(2, 5)]


@pytest.mark.parametrize(
    ("process", "manifest", "missing"),
    [
        ({"clean_shutdown": False}, {}, True),
        ({"clean_shutdown": True}, {"clean_shutdown": False}, False),
        ({"engine": "x"}, {"clean_shutdown": False}, True),
        ({"engine": "x"}, {"clean_shutdown": True}, False),
        ({"engine": "x"}, {"format_version": 1}, False),
    ],
)
def test_a_missing_end_is_said(write: Write, process: Any, manifest: Any, missing: bool) -> None:
    folder = write({"alloc": [[0, 1]]}, process=process, manifest={"format_version": 1, **manifest})
    assert [problem.kind for problem in opened(folder).problems] == ["missing_end"] * missing


def test_foreign_tables_and_columns_are_ignored(write: Write) -> None:
    folder = write({"alloc": [[0, 1]]}, process={"clean_shutdown": True})
    table = pq.read_table(folder / "alloc/00000.parquet")
    later = table.append_column("colour", pa.array(["red", "blue"])).drop_columns(["reason"])
    pq.write_table(later, folder / "alloc/00000.parquet")
    (folder / "dreams").mkdir()
    pq.write_table(later, folder / "dreams/00000.parquet")
    (folder.parent / "notes").mkdir()
    process = opened(folder)
    assert process.table("alloc").schema == SCHEMAS["alloc"]
    assert process.table("alloc").column("reason").null_count == 2
    assert process.present == ("alloc",) and process.problems == ()


def test_a_column_of_another_type_is_cast_or_said(write: Write) -> None:
    folder = write({"alloc": [[0, 1]]}, process={"clean_shutdown": True})
    table = pq.read_table(folder / "alloc/00000.parquet").to_pydict()
    table |= {"row": pa.array([5, 6], pa.int64()), "request": pa.array(["a", "b"]).dictionary_encode()}
    table |= {"slots": pa.array(["x", "y"]), "seq": pa.array([0, None], pa.int64())}
    pq.write_table(pa.table(table), folder / "alloc/00000.parquet")
    process = opened(folder)
    rows = process.table("alloc").to_pylist()
    assert [(row["seq"], row["row"], row["request"], row["slots"]) for row in rows] == [(0, 5, "a", None)]
    (problem,) = process.problems
    assert problem.kind == "damaged_column" and "slots" in problem.what


def test_opening_and_reading_changes_nothing(write: Write) -> None:
    folder = write({"alloc": [[0], [1]]}, {"alloc": [[2]], "free": [[9]]})
    (folder / "alloc/00001.parquet").write_bytes(b"rubbish")
    before = content(folder.parent)
    process = opened(folder)
    process.verify()
    list(process.events())
    assert content(folder.parent) == before


@pytest.mark.parametrize("version", [2, "2.0", 17])
def test_a_newer_version_is_refused(write: Write, version: Any) -> None:
    folder = write({"alloc": [[0]]}, manifest={"format_version": version})
    with pytest.raises(RecordingError, match="format version 2|format version 17") as caught:
        Recording.open(folder.parent)
    assert "newer speckv-debug" in caught.value.remedy


@pytest.mark.parametrize("version", [None, "one", True, [1], ""])
def test_a_version_that_is_none_is_refused(write: Write, version: Any) -> None:
    folder = write({"alloc": [[0]]}, manifest={"format_version": version})
    with pytest.raises(RecordingError, match="format_version is"):
        Recording.open(folder.parent)


def test_a_minor_version_is_read(write: Write) -> None:
    assert opened(write({"alloc": [[0]]}, manifest={"format_version": "1.9"})).present == ("alloc",)


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, "\xff"])
def test_damaged_json_is_said_and_the_events_used(write: Write, text: str) -> None:
    folder = write({"alloc": [[0]]})
    (folder / "process.json").write_text(text, encoding="latin-1")
    (folder.parent / "manifest.json").write_text(text, encoding="latin-1")
    recording = Recording.open(folder.parent)
    assert [problem.kind for problem in recording.problems] == ["damaged_manifest", "damaged_process"]
    (process,) = recording.processes
    assert process.info.rank.tp == 0 and process.info.pid == 1 and process.present == ("alloc",)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (
            {"pools": [{"name": "full", "kind": "full", "slots": -1, "page_size": 4}]},
            '"slots" of pool "full"',
        ),
        ({"pools": [{"name": "full", "kind": "full", "page_size": 0}]}, '"page_size" of pool "full"'),
        ({"engine": 5}, '"engine" should be a string'),
        ({"pools": [{"name": "full", "slots": -1}]}, '"slots" of pool "full"'),
        ({"pools": [{"name": "full", "kind": "later", "slots": -1}]}, '"slots" of pool "full"'),
        ({"pools": [{"name": "full", "kind": "later", "slots": 1}]}, None),
    ],
)
def test_what_a_process_can_t_be_is_unknown_and_said(write: Write, raw: Any, says: str | None) -> None:
    """A kind of pool that a later version may know is no damage."""
    process = opened(write({"alloc": [[0]]}, process=raw))
    assert [problem.what for problem in process.problems if says in problem.what] if says else True
    assert len(process.problems) == (says is not None)
    assert all((pool.slots or 0) >= 0 and pool.page_size != 0 for pool in process.info.pools)


def test_a_folder_with_a_cache_is_no_process(tmp_path: Path) -> None:
    """Nor is one with a spool, unless it is named like a process or holds files of tables."""
    (tmp_path / "var" / "cache" / "apt").mkdir(parents=True)
    (tmp_path / "var" / "spool" / "mail").mkdir(parents=True)
    with pytest.raises(RecordingError, match="holds no recording"):
        Recording.open(tmp_path)
    (tmp_path / "tp0-pp0-dp0-7" / "spool").mkdir(parents=True)
    assert [process.label for process in Recording.open(tmp_path).processes] == ["tp0-pp0-dp0-7"]


def test_no_recording_is_refused(tmp_path: Path, write: Write) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.jsonl").write_text("{}")
    for name, says in (("none", "no such"), ("empty", "no recording"), ("file.jsonl", "is a file")):
        with pytest.raises(RecordingError, match=says):
            Recording.open(tmp_path / name)
    folder = write()
    shutil.rmtree(folder)
    with pytest.raises(RecordingError, match="no process recorded anything"):
        Recording.open(folder.parent)


def test_labels_are_in_natural_order(write: Write) -> None:
    folder = write({"alloc": [[0]]})
    for label in ("tp0-pp0-dp0-10", "tp10-pp0-dp0", "tp2-pp0-dp0", "tp0-pp0-dp0-1-1"):
        shutil.copytree(folder, folder.parent / label)
    labels = [process.label for process in Recording.open(folder.parent).processes]
    expected = ["tp0-pp0-dp0-1", "tp0-pp0-dp0-1-1", "tp0-pp0-dp0-10", "tp2-pp0-dp0", "tp10-pp0-dp0"]
    assert labels == expected


def test_batches_hold_one_part_a_table(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory stays bounded: a part is read only when the stream reaches it."""
    from speckv_debug.recording import table_files

    read: list[str] = []
    real = table_files.read_part

    def counted(path: Path, *wanted: Any) -> pa.Table:
        read.append(f"{path.parent.name}/{path.stem[-1]}")
        return real(path, *wanted)

    monkeypatch.setattr(table_files, "read_part", counted)
    parts = {"alloc": [[0, 1], [10, 11], [20, 21]], "free": [[2, 3], [12, 13], [22, 23]]}
    process = opened(write(parts, process={"clean_shutdown": True}))
    steps = [(batch.last_seq, len(read)) for batch in process.batches()]
    assert steps == [(1, 2), (3, 3), (11, 4), (13, 5), (23, 6)]
    assert read == ["alloc/0", "free/0", "alloc/1", "free/1", "alloc/2", "free/2"]


def test_a_path_that_is_no_utf8_is_read_like_any_other(tmp_path: Path) -> None:
    folder = tmp_path / "caf\udce9.speckv" / "tp0-pp0-dp0-1"
    (folder / "lengths").mkdir(parents=True)
    (folder / "process.json").write_text('{"clean_shutdown": true}')
    write_part(folder / "lengths/00000.parquet", pa.table(rows_of("lengths", [0, 1, 2])))
    process = opened(folder)
    assert process.table("lengths")["seq"].to_pylist() == [0, 1, 2]
    assert process.problems == ()
