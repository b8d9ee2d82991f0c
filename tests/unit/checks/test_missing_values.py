"""A clean run of the reference engine with values, events or files missing: what depends on them is unknown, never wrong."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from speckv_debug.checks.run import check
from speckv_debug.collectors.reference.demo import record_demo
from speckv_debug.model.finding import CheckResult, Severity
from speckv_debug.model.process import Process
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.recording.schema import COLUMNS
from tests.ledgers import Run, span

Tables = Mapping[str, pa.Table]
VITAL = {
    "accept": ("step", "row", "epoch", "out_cache_loc", "table_slots", "accept_index", "predict", "width"),
    "alloc": ("step", "row", "slots"),
    "cache": ("action", "slots"),
    "compact": ("step", "tensor", "before", "after"),
    "forward": ("step", "mode", "row", "slots", "tokens", "positions"),
    "free": ("slots", "group"),
    "free_group": ("action", "group"),
    "lengths": ("row", "epoch", "cause", "committed"),
    "move": ("step", "src", "tgt"),
    "release": ("row", "kind"),
    "reserve": ("step", "row"),
    "row_free": ("row",),
    "table_write": ("row", "epoch", "start", "slots"),
}
HALF_TOLD = [
    "only one of the two lengths is told",
    "the report does not tell a length that was reported before",
]
EACH = [(table, column) for table, columns in VITAL.items() for column in columns]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> ProcessRecording:
    """The clean run, with every table in memory."""
    path = tmp_path_factory.mktemp("demo") / "demo.speckv"
    record_demo(path, seed=7)
    (process,) = Recording.open(path).processes
    for table in process.files:
        process.table(table)
    return process


def judged(
    demo: ProcessRecording, tables: Tables, info: Process | None = None, *, clean: bool = True
) -> CheckResult:
    """What is said of the run with these tables instead of its own."""
    process: Any = copy.copy(demo)
    process._tables, process._seqs, process._gaps = {**demo._tables, **tables}, {}, None
    process.__dict__.pop("_order", None)
    process.info, process.clean = info or demo.info, clean
    recording = Recording(Path(), {}, (process,))
    return check(recording, on_error=lambda rule, error: pytest.fail(f"{rule}: {error!r}"))


def wrong(result: CheckResult) -> list[str]:
    """Errors and warnings, the naming of a gap left out."""
    return [f"{f.rule} {f.first_seq}: {f.message}" for f in result.findings if not _named_gap(f)]


def _named_gap(finding: Any) -> bool:
    return finding.rule == "TRC-GAP" or finding.severity is Severity.NOTE


def without(table: pa.Table, column: str, rows: list[int] | None = None) -> pa.Table:
    """The table with a column that is null, everywhere or in some rows."""
    at = table.column_names.index(column)
    values = [None] * len(table) if rows is None else table.column(at).to_pylist()
    for row in rows or ():
        values[row] = None
    return table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))


def between(demo: ProcessRecording, first: int, last: int) -> Tables:
    """All events `[first, last]`."""
    return {name: _picked(table, first, last) for name, table in demo._tables.items()}


def _picked(table: pa.Table, first: int, last: int) -> pa.Table:
    seq = table.column("seq")
    return table.filter(pc.and_(pc.greater_equal(seq, first), pc.less_equal(seq, last)))


def seqs(demo: ProcessRecording, table: str, **values: Any) -> list[int]:
    """Events of a table with these values."""
    rows = demo.table(table).select(["seq", *values]).to_pylist()
    return [row["seq"] for row in rows if all(row[name] == value for name, value in values.items())]


def test_the_whole_run_is_clean(demo: ProcessRecording) -> None:
    result = judged(demo, {})
    assert not result.findings
    assert not [each for each in result.unknown if each.why.startswith("events of ")]


@pytest.mark.parametrize(("table", "column"), EACH)
def test_a_column_that_no_event_has(demo: ProcessRecording, table: str, column: str) -> None:
    assert not wrong(judged(demo, {table: without(demo.table(table), column)}))


LISTS = [(t, c) for t, columns in COLUMNS.items() for c, kind in columns.items() if pa.types.is_list(kind)]


@pytest.mark.parametrize(("table", "column"), LISTS)
def test_lists_with_an_item_missing(demo: ProcessRecording, table: str, column: str) -> None:
    rows = demo.table(table)
    values = rows.column(column).to_pylist()
    filled = [i for i, value in enumerate(values) if value]
    for at in filled[len(filled) // 3 :: 7]:
        values[at] = [*values[at][:-1], None]
    index = rows.column_names.index(column)
    field = rows.schema.field(index)
    assert not wrong(judged(demo, {table: rows.set_column(index, field, pa.array(values, field.type))}))


@pytest.mark.parametrize(("table", "column"), EACH)
def test_one_event_without_a_value(demo: ProcessRecording, table: str, column: str) -> None:
    rows = demo.table(table)
    told = [row for row in range(len(rows)) if rows.column(column)[row].is_valid]
    row = told[len(told) // 2]
    assert not wrong(judged(demo, {table: without(rows, column, [row])})), rows.column("seq")[row]


@pytest.mark.parametrize("place", [0, 0.3, 0.6])
def test_a_write_that_names_no_slots(demo: ProcessRecording, place: float) -> None:
    rows = demo.table("table_write").to_pylist()
    rows[int(place * len(rows))]["slots"] = []
    emptied = pa.Table.from_pylist(rows, demo.table("table_write").schema)
    found = wrong(judged(demo, {"table_write": emptied}))
    assert not [each for each in found if each.startswith(("RPL-SHADOW", "ST-DRAFT"))]


def test_a_move_without_its_targets_hides_a_fault_of_that_move_alone(demo: ProcessRecording) -> None:
    rows = demo.table("move")
    result = judged(demo, {"move": without(rows, "tgt", [0])})
    assert [each.instances for each in result.unknown if each.why == "events of move have no tgt"]
    assert result.checked["MOV-PAIR"] > 0


def test_an_accept_without_its_step_leaves_its_moves_to_nobody(demo: ProcessRecording) -> None:
    rows = demo.table("accept")
    for row in range(8, len(rows), 3):
        assert not wrong(judged(demo, {"accept": without(rows, "step", [row])})), rows.column("seq")[row]


def test_no_write_of_a_request_row_was_recorded(demo: ProcessRecording) -> None:
    listed = tuple(name for name in demo.info.tables if name != "table_write")
    result = judged(
        demo, {"table_write": demo.table("table_write").slice(0, 0)}, replace(demo.info, tables=listed)
    )
    assert not wrong(result)


def test_the_process_file_is_lost(demo: ProcessRecording) -> None:
    assert not wrong(judged(demo, {}, Process(label=demo.label)))


def test_a_cut_between_the_reserves_of_a_batch_and_their_grants(demo: ProcessRecording) -> None:
    rows = demo.table("reserve").to_pylist()
    last = {row["step"]: row["seq"] for row in rows}
    for seq in list(last.values())[:6]:
        for end in (seq, seq + 2):
            assert not wrong(judged(demo, between(demo, 0, end), clean=False)), end


def test_a_grant_that_never_came_is_found_before_the_launch(demo: ProcessRecording) -> None:
    seq = seqs(demo, "alloc", reason="spec_reserve")[0]
    table = demo.table("alloc")
    moved = table.filter(pc.not_equal(table.column("seq"), seq))
    told = demo.table("note").to_pylist()
    notes = pa.Table.from_pylist([*told, told[0] | {"seq": seq}], demo.table("note").schema).sort_by("seq")
    assert any(line.startswith("LEN-ALLOC") for line in wrong(judged(demo, {"alloc": moved, "note": notes})))


@pytest.mark.parametrize("first", [1, 2, 4, 60, 128, 300, 500])
def test_the_beginning_of_a_run_recorded_from_its_start(demo: ProcessRecording, first: int) -> None:
    assert demo.info.from_start
    assert not wrong(judged(demo, between(demo, first, 10**9)))


def test_a_stream_written_by_hand_may_count_its_process_line(demo: ProcessRecording) -> None:
    process: Any = copy.copy(demo)
    process._tables, process._seqs = dict(between(demo, 1, 10**9)), {}
    process.clean = None
    assert process.missing_head == 0
    process.clean = True
    assert process.missing_head == 1


@pytest.mark.parametrize("column", ["before", "after"])
@pytest.mark.parametrize("kept", [0, 1, 7])
def test_a_compaction_whose_list_was_cut(demo: ProcessRecording, column: str, kept: int) -> None:
    rows = demo.table("compact").to_pylist()
    for row in rows:
        row[column] = row[column][:kept]
    cut = pa.Table.from_pylist(rows, demo.table("compact").schema)
    assert not wrong(judged(demo, {"compact": cut}))


def test_the_columns_named_here_are_those_of_the_contract() -> None:
    assert all(column in {*COLUMNS[table], "step"} for table, column in EACH)


def test_a_free_inside_a_group_that_does_not_name_it() -> None:
    run = Run(4, 64)
    for row, first in ((1, 8), (2, 16)):
        run.start(row, span(first, first + 8))
    run.group("begin")
    run.free(span(8, 16), 1, group=1)
    run.free(span(16, 24), 2)
    run.group("end")
    for rule in ("OWN-DFREE", "OWN-PAGESAFE"):
        found = run.check(rule)
        assert not found.findings
        assert [u.instances for u in found.unknown if "names no group inside an open one" in u.why] == [1]


@pytest.mark.parametrize("length", ["committed", "allocated"])
def test_a_release_without_a_length_that_was_reported(length: str) -> None:
    run = Run(4, 64)
    run.start(1, span(8, 16))
    run.end(1, span(8, 16))
    next(line for line in run.lines if line["event"] == "release")[length] = None
    found = run.check("LEN-ORDER")
    assert not found.findings
    assert [u.why for u in found.unknown] == HALF_TOLD


def test_a_commit_without_the_allocated_length() -> None:
    run = Run(4, 64)
    run.start(1, span(8, 16))
    run.add("lengths", **run.who(1, None, 1), committed=8, allocated=None, cause="verify_commit")
    found = run.check("LEN-ORDER")
    assert not found.findings
    assert [u.why for u in found.unknown] == HALF_TOLD
