"""Events that a process says it recorded and that no file holds; folders and files that may not be read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from speckv_debug.checks.run import check
from speckv_debug.errors import RecordingError
from speckv_debug.recording import reader, table_files
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Problem, ProblemKind, Recording

EVENTS = 4


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Three events of one table, the last one of another, of a process that ended in order."""
    return written(tmp_path, 3)


def written(tmp_path: Path, at: int) -> Path:
    """The same with the other table's event at this place."""
    head = {
        "event": "process", "engine": "sglang", "tables": ["accept", "row_alloc", "row_free"], "events": EVENTS,
        "clean_shutdown": True, "from_start": True,
    }  # fmt: skip
    rows = [{"event": "row_alloc", "row": row, "epoch": 1, "request": f"r{row}"} for row in (1, 2, 3)]
    rows.insert(at, {"event": "row_free", "row": 1, "epoch": 1, "request": "r1"})
    lines = [head, *rows]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    import_jsonl(tmp_path / "x.jsonl", tmp_path / "x.speckv")
    return tmp_path / "x.speckv"


def problems(recording: Path) -> tuple[Problem, ...]:
    return Recording.open(recording).processes[0].problems


def test_a_recording_that_holds_all_of_them(recording: Path) -> None:
    process = Recording.open(recording).processes[0]
    assert not process.problems and process.recorded_whole == ("accept", "row_alloc", "row_free")


def test_a_table_folder_that_is_gone_takes_the_end_with_it(recording: Path) -> None:
    shutil.rmtree(next(recording.glob("*/row_free")))
    process = Recording.open(recording).processes[0]
    (problem,) = process.problems
    assert (problem.kind, problem.after_seq, problem.rows) == (ProblemKind.MISSING_END, 2, 1)
    assert "names 4 events, the last one is in no file" in problem.what
    assert process.recorded_whole == ("row_alloc",)


def test_what_rests_on_the_end_is_unknown(recording: Path) -> None:
    shutil.rmtree(next(recording.glob("*/row_free")))
    result = check(Recording.open(recording), only=["TRC-GAP"])
    assert not result.findings and [(each.why, each.instances) for each in result.unknown] == [
        ("the end of the stream is missing", 1),
        ("the process does not name the adapter that wrote its events", 1),
    ]


def test_a_table_folder_that_leaves_a_hole_is_not_whole(tmp_path: Path) -> None:
    recording = written(tmp_path, 1)
    shutil.rmtree(next(recording.glob("*/row_free")))
    process = Recording.open(recording).processes[0]
    assert process.gaps() == [(1, 2)] and not process.problems
    assert process.recorded_whole == ("row_alloc",)


@pytest.mark.parametrize("told", [True, "4", None, -1, 3])
def test_a_number_that_says_nothing(recording: Path, told: object) -> None:
    raw = next(recording.glob("*/process.json"))
    raw.write_text(json.dumps(json.loads(raw.read_text()) | {"events": told}))
    assert not problems(recording)


def test_a_folder_that_may_not_be_read_is_named(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = table_files.os.listdir

    def refuse(folder: Path) -> list[str]:
        if Path(folder).name == "row_free":
            raise PermissionError(13, "Permission denied", str(folder))
        return listed(folder)

    monkeypatch.setattr(table_files.os, "listdir", refuse)
    process = Recording.open(recording).processes[0]
    (problem,) = process.problems
    assert problem.where.endswith("/row_free") and problem.file == "an unreadable file"
    assert "not readable (Permission denied; check the permissions) and skipped" in problem.what
    assert "damaged" not in problem.what and process.recorded_whole == ("accept", "row_alloc")


def test_a_manifest_that_may_not_be_read_is_named(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> dict[str, object]:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(reader, "read_object", refuse)
    with pytest.raises(RecordingError) as raised:
        Recording.open(recording)
    assert str(raised.value).startswith(f"{recording / 'manifest.json'}: Permission denied")
