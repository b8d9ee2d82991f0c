"""`report` names the file that can't be written, not a temporary one."""

import os
from pathlib import Path

import pytest

from speckv_debug.checks.run import check
from speckv_debug.cli.report import write_report
from speckv_debug.errors import RecordingError
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording


def test_a_refusal_names_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_text('{"event":"process","engine":"toy"}\n{"event":"note","text":"hello"}\n')
    import_jsonl(tmp_path / "a.jsonl", tmp_path / "a.speckv")
    recording = Recording.open(tmp_path / "a.speckv")
    monkeypatch.setattr(os, "replace", lambda old, new: os.rmdir(tmp_path / "missing"))
    with pytest.raises(RecordingError, match=r"/x\.html can't be written: No such file"):
        write_report(recording, check(recording), tmp_path / "x.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "a.speckv"]
