"""`import`, `export` and `info` as people type them, on the stored recordings."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from speckv_debug.cli import main
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.text_stream import decompressed

PROGRAM = Path(sys.executable).with_name("speckv-debug")
RECORDINGS = Path(__file__).parents[1] / "recordings"
STORED = sorted([*RECORDINGS.glob("cases/*.jsonl"), *RECORDINGS.glob("real/*.xz")])


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a file, slot ranges expanded."""
    with path.open("rb") as file:
        lines = [json.loads(line) for line in decompressed(file) if line.strip()]
    return [{key: expanded(value) for key, value in line.items()} for line in lines]


def expanded(value: Any) -> Any:
    """A list with its ranges as integers."""
    if not isinstance(value, list) or not any(isinstance(item, str) and ":" in item for item in value):
        return value
    pairs = [tuple(map(int, v.split(":"))) if isinstance(v, str) else (v, v + 1) for v in value]
    return [slot for start, stop in pairs for slot in range(start, stop)]


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of a recording."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_there_are_stored_recordings() -> None:
    assert len(STORED) >= 39


@pytest.mark.parametrize("stored", STORED, ids=lambda path: path.name)
def test_a_stored_recording_survives_the_round_trip(
    stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, text = tmp_path / "a.speckv", tmp_path / "b.speckv", tmp_path / "a.jsonl.zst"
    assert main(["import", str(stored), "-o", str(first)]) == 0
    assert "no process line" not in (err := capsys.readouterr().err) and "ignored" not in err
    assert main(["export", str(first), "-o", str(text)]) == 0
    assert main(["import", str(text), "-o", str(second)]) == 0
    assert files_of(first) == files_of(second)
    written = [line for line in lines_of(text) if line["event"] != "recording"]
    assert by_process(lines_of(stored)) == by_process(written)
    recording = Recording.open(first)
    assert recording.problems == ()


def by_process(lines: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Each process's lines; an event without seq gets its place."""
    processes: list[list[dict[str, Any]]] = []
    for line in lines:
        if line["event"] == "process":
            processes.append([{key: value for key, value in line.items() if key != "seq"}])
        else:
            before = processes[-1][-1].get("seq", -1)
            processes[-1].append({"seq": before + 1, **line})
    return sorted(processes, key=lambda each: json.dumps(each[0].get("rank"), sort_keys=True))


def shell(command: str, folder: Path, text: str = "") -> tuple[str, str]:
    """Run a shell line in which `speckv-debug` is the installed program; its stdout and stderr."""
    line = command.replace("speckv-debug", str(PROGRAM))
    done = subprocess.run(
        line, shell=True, input=text, capture_output=True, text=True, check=True, cwd=folder
    )
    return done.stdout, done.stderr


def test_pipes(tmp_path: Path) -> None:
    text = '{"event":"process","engine":"x"}\n{"event":"alloc","slots":["64:128"]}\n'
    out, err = shell("speckv-debug import - -o x.speckv", tmp_path, text)
    assert out == "" and "next: speckv-debug check x.speckv" in err
    out, err = shell("speckv-debug export x.speckv --format jsonl", tmp_path)
    assert '{"event":"alloc","seq":0,"slots":["64:128"]}\n' in out and out.count("\n") == 3
    out, err = shell("speckv-debug export x.speckv | head -n 1", tmp_path)
    assert out.count("\n") == 1 and "Traceback" not in err


def test_a_pipe_needs_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "-"]) == 2
    assert "-o" in capsys.readouterr().err


def test_standard_input_may_be_compressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip

    class Stdin:
        buffer = io.BytesIO(gzip.compress(b'{"event":"process"}\n{"event":"note"}\n'))

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert main(["import", "-o", str(tmp_path / "x.speckv"), "-"]) == 0
    assert Recording.open(tmp_path / "x.speckv").processes[0].present == ("note",)


def test_what_is_ignored_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"event":"note","txet":"hello"}\n{"event":"note","txet":"hello"}\n')
    assert main(["import", str(file)]) == 0
    err = capsys.readouterr().err
    assert f"{file}:1: there is no process line" in err
    assert f"{file}:1: note has no column 'txet'; ignored in 2 lines. Did you mean \"text\"?" in err


INFO = """\
{"event": "recording", "format_version": 1, "command": ["python", "serve it.py"], "clean_shutdown": false}
{"event": "process", "engine": "sglang", "engine_version": "0.5.23", "adapter": "sglang", "rank": {"tp": 1},\
 "pools": [{"name": "full", "kind": "full", "slots": 64, "page_size": 16}], "settings": {"topk": 2},\
 "tables": ["accept"], "from_start": true, "hooks": {"mover": "a.b", "sampler": null}}
{"event": "accept", "seq": 0, "step": 1, "t_ns": 1700000000000000000, "request": "a", "accept_len": 2}
{"event": "accept", "seq": 1, "step": 1, "request": "b", "sampling": "greedy", "accept_len": 3}
{"event": "accept", "seq": 4, "step": 2, "t_ns": 1700000001500000000, "request": "a", "sampling": "simulated",\
 "accept_len": 9}
{"event": "drop", "seq": 5, "table": "alloc", "rows": 3, "why": "too slow"}
"""


def test_info_says_what_is_there_and_what_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.jsonl").write_text(INFO)
    assert main(["import", str(tmp_path / "x.jsonl")]) == 0
    capsys.readouterr()
    assert main(["info", str(tmp_path / "x.speckv")]) == 0
    out, err = capsys.readouterr()
    assert f"next: speckv-debug check {tmp_path / 'x.speckv'}" in err
    for says in (
        "command   python 'serve it.py'",
        "tp1-pp0-dp0: sglang 0.5.23, adapter sglang",
        "full: kind full, slots 64, page size 16",
        "topk 2",
        "accept 3, drop 1",
        "from the first allocation",
        "2 (from 1 to 2), 2 requests, 1.500 s from 2023-11-14 22:13:20 UTC",
        "accepted  2 verifies, mean accept length 2.50",
        "simulated 1 verifies, mean accept length 9.00",
        "did not resolve: sampler",
        "3 rows of alloc were dropped while recording (too slow)",
        "the end is missing",
        "missing   tp1-pp0-dp0: 2 events between recorded ones, at seq [2, 4)",
    ):
        assert says in out, says


def test_info_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.jsonl").write_text(INFO)
    assert main(["import", str(tmp_path / "x.jsonl")]) == 0
    capsys.readouterr()
    assert main(["info", "--format", "json", str(tmp_path / "x.speckv")]) == 0
    (process,) = json.loads(capsys.readouterr().out)["processes"]
    assert process["tables"] == {"accept": 3, "drop": 1} and process["gaps"] == [[2, 4]]
    assert process["acceptance"] == {"verifies": 2, "mean_accept_len": 2.5}
    assert process["simulated_acceptance"] == {"verifies": 1, "mean_accept_len": 9.0}
    assert (process["steps"], process["requests"], process["events"]) == (2, 2, 4)
    assert process["unresolved"] == ["sampler"] and process["ended_in_order"] is False
    assert [problem["kind"] for problem in process["problems"]] == ["dropped", "missing_end"]


def test_simulation_in_the_settings_counts_where_the_event_is_silent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = INFO.replace('"settings": {"topk": 2}', '"settings": {"simulate_acc_len": 3.5}')
    (tmp_path / "x.jsonl").write_text(text)
    assert main(["import", str(tmp_path / "x.jsonl")]) == 0
    capsys.readouterr()
    assert main(["info", "--format", "json", str(tmp_path / "x.speckv")]) == 0
    (process,) = json.loads(capsys.readouterr().out)["processes"]
    assert process["acceptance"] == {"verifies": 1, "mean_accept_len": 3.0}
    assert process["simulated_acceptance"]["verifies"] == 2


def test_a_program_opens_a_recording(tmp_path: Path) -> None:
    import speckv_debug

    (tmp_path / "x.jsonl").write_text(INFO)
    assert main(["import", str(tmp_path / "x.jsonl")]) == 0
    (process,) = speckv_debug.open_recording(str(tmp_path / "x.speckv")).processes  # type: ignore[operator]
    assert process.info.engine == "sglang" and process.present == ("accept", "drop")
