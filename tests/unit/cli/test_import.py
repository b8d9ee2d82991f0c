"""`import` says what it was given when that is no file."""

from pathlib import Path

import pytest

from speckv_debug import cli


def test_a_recording_as_input_is_said_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "run.speckv"
    run.mkdir()
    assert cli.main(["import", "run.speckv"]) == 2
    assert "is a folder" in capsys.readouterr().err
    (run / "manifest.json").write_text('{"format_version": 1}')
    assert cli.main(["import", "run.speckv"]) == 2
    assert "is a recording already" in capsys.readouterr().err
