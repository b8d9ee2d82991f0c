"""`report` names the file that can't be written, not a temporary one."""

import os
from pathlib import Path

import pytest

from speckv_debug.checks.run import check
from speckv_debug.cli.report import write_report
from speckv_debug.errors import RecordingError
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.html import page


def test_a_refusal_names_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_text('{"event":"process","engine":"toy"}\n{"event":"note","text":"hello"}\n')
    import_jsonl(tmp_path / "a.jsonl", tmp_path / "a.speckv")
    recording = Recording.open(tmp_path / "a.speckv")
    monkeypatch.setattr(os, "replace", lambda old, new: os.rmdir(tmp_path / "missing"))
    with pytest.raises(RecordingError, match=r"/x\.html can't be written: No such file"):
        write_report(recording, check(recording), tmp_path / "x.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "a.speckv"]


def test_a_recording_that_can_not_be_read_is_no_fault_of_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jsonl").write_text('{"event":"process","engine":"toy"}\n{"event":"note","text":"hello"}\n')
    import_jsonl(tmp_path / "a.jsonl", tmp_path / "a.speckv")
    recording = Recording.open(tmp_path / "a.speckv")
    result = check(recording)

    def unreadable(*args: object) -> None:
        raise OSError(5, "Input/output error", "part.parquet")

    monkeypatch.setattr(page, "render", lambda *args, **more: unreadable())
    with pytest.raises(OSError, match=r"part\.parquet"):
        write_report(recording, result, tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()


def test_an_output_with_a_name_as_long_as_names_may_be_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"event":"process","engine":"toy"}\n{"event":"note","text":"hello"}\n')
    import_jsonl(tmp_path / "a.jsonl", tmp_path / "a.speckv")
    recording = Recording.open(tmp_path / "a.speckv")
    out = tmp_path / f"{'x' * 250}.html"
    write_report(recording, check(recording), out)
    assert out.read_text().startswith("<!doctype html>")
