"""Damage inside a part, which no footer shows: every command that meets it says so, and an export does not hide it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from speckv_debug.cli import main
from speckv_debug.recording.jsonl import import_jsonl
from tests.damaged import damage

REAL = Path(__file__).parents[1] / "recordings" / "real" / "eagle_k4_p64_sync.jsonl.xz"
WITHDRAWN = "speckv-debug: tp0-pp0-dp0: the export does not list as recorded whole: accept\n"
COMMANDS = (["check"], ["history", "--page", "3"], ["report", "-o", "-"], ["export"])


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording of which a page of accept's seq is damaged."""
    import_jsonl(REAL, tmp_path / "x.speckv")
    damage(tmp_path / "x.speckv", "accept", "seq")
    return tmp_path / "x.speckv"


def process_line(text: str) -> dict[str, Any]:
    lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()[:2]]
    return next(line for line in lines if line["event"] == "process")


@pytest.mark.parametrize("command", COMMANDS)
def test_damage_met_while_reading_is_told_once(
    recording: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert main([command[0], str(recording), *command[1:]]) in (0, 1)
    err = capsys.readouterr().err
    assert err.count("accept/00000.parquet: damaged") == 1 and "accept rows of the whole recording" in err
    assert err.index("damaged") < err.find("next: ") or "next: " not in err


@pytest.mark.parametrize("command", [["history", "--slot", "200"], ["state", "--at", "40"]])
def test_damage_that_an_answer_does_not_rest_on_is_told_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    import_jsonl(REAL, tmp_path / "x.speckv")
    assert main([command[0], str(tmp_path / "x.speckv"), *command[1:]]) == 0
    sound = capsys.readouterr()
    damage(tmp_path / "x.speckv", "accept", "predict")
    assert main([command[0], str(tmp_path / "x.speckv"), *command[1:]]) == 0
    out, err = capsys.readouterr()
    assert out == sound.out and "damaged" not in sound.err
    assert err.count("accept/00000.parquet: damaged") == 1


def test_damage_known_at_opening_is_told_once(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = recording.glob("*/accept/00000.parquet")
    path.write_bytes(path.read_bytes()[:-400])
    assert main(["export", str(recording)]) == 0
    out, err = capsys.readouterr()
    assert err.count("accept/00000.parquet: damaged") == 1 and WITHDRAWN in err
    assert "accept" not in process_line(out)["tables"]


def test_damage_is_told_beside_a_refusal(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["state", str(recording), "--at", "99999"]) == 2
    err = capsys.readouterr().err
    assert "no event names step 99999" in err and err.count("accept/00000.parquet: damaged") == 1


def test_a_copy_takes_no_missing_row_for_evidence(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = recording.with_suffix(".jsonl")
    assert main(["export", str(recording), "-o", str(out)]) == 0
    assert WITHDRAWN in capsys.readouterr().err
    tables = process_line(out.read_text())["tables"]
    assert "accept" not in tables and {"alloc", "free", "move"} <= set(tables)
    assert main(["import", str(out), "-f"]) == 0
    capsys.readouterr()
    main(["check", str(recording), "--format", "json"])
    result = json.loads(capsys.readouterr().out)
    assert {finding["rule"] for finding in result["findings"]} <= {"TRC-GAP"}
    assert any("accept was not recorded" in unknown["why"] for unknown in result["unknown"])


def test_an_export_keeps_what_a_sound_recording_claims(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import_jsonl(REAL, tmp_path / "x.speckv")
    assert main(["export", str(tmp_path / "x.speckv")]) == 0
    out, err = capsys.readouterr()
    assert "accept" in process_line(out)["tables"] and "recorded whole" not in err


def test_info_calls_no_damaged_table_whole(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(recording)]) == 0
    out = capsys.readouterr().out
    (whole,) = (line for line in out.splitlines() if line.startswith("  whole "))
    assert "accept" not in whole and "alloc" in whole and "accept/00000.parquet: damaged" in out
    assert main(["info", str(recording), "--format", "json"]) == 0
    (process,) = json.loads(capsys.readouterr().out)["processes"]
    assert "accept" not in process["recorded_whole"] and "alloc" in process["recorded_whole"]


@pytest.mark.parametrize("command", [["history", "--page", "3"], ["state", "--at", "40"]])
def test_many_holes_are_told_as_one(
    recording: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    main([command[0], str(recording), *command[1:]])
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("unknown  events ")]
    assert len(told) == 1 and "places, first event" in told[0]
    main([command[0], str(recording), *command[1:], "--json"])
    unknown = json.loads(capsys.readouterr().out)["unknown"]
    assert len([each for each in unknown if each["why"].startswith("events ")]) > 3
