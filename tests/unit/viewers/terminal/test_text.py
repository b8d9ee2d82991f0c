"""What people read: order, folding, escaping, nothing cut in silence."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult, Evidence, Finding, Severity, Unknown
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.recorder import Recorder
from speckv_debug.viewers.terminal.table import table_lines
from speckv_debug.viewers.terminal.text import render

Build = Callable[..., Any]


@pytest.fixture
def recording(record: Build, verify: Build) -> Recording:
    found: Recording = record(verify())
    return found


def shown(result: CheckResult, recording: Recording, **options: Any) -> str:
    out = io.StringIO()
    render(result, recording, out, **options)
    return out.getvalue()


def finding(rule: str, seq: int, **columns: Any) -> Finding:
    defaults: dict[str, Any] = {"severity": Severity.ERROR, "process": "p", "message": f"{rule} broke"}
    return Finding(rule=rule, first_seq=seq, **(defaults | columns))


def test_clean_is_one_line(recording: Recording) -> None:
    result = CheckResult(
        checked={"ACC-COUNT": 1204, "ACC-CHAIN": 0}, unknown=(Unknown(rule="X", why="w", instances=2),)
    )
    text = shown(result, recording)
    assert text.count("\n") == 1
    assert (
        "1 step, 1,204 instances of 1 rule, nothing found · judged 99.8 %, unknown: 1 rule (--verbose)"
        in text
    )
    assert "X: 2 instances, w" in shown(result, recording, verbose=True)


def test_no_tick_where_most_is_unknown(recording: Recording) -> None:
    for missed, mark in ((3, "✓ "), (4, "? ")):
        result = CheckResult(checked={"A": 3}, unknown=(Unknown(rule="X", why="w", instances=missed),))
        assert shown(result, recording).startswith(mark)
    assert "3 instances of 1 rule, nothing found · judged 42.8 %, unknown: 1 rule" in shown(result, recording)


def test_root_causes_come_first_and_carry_what_follows(recording: Recording) -> None:
    findings = (
        finding("MOV-PAIR", 5, step=812, request="7"),
        finding("MOV-HAZARD", 5, step=812, cause=5),
        finding("LEN-TOKEN", 9, step=813, request="7", cause=5, repeats=390),
        finding("OWN-LEAK", 20, step=900, request="9"),
    )
    lines = shown(CheckResult(findings=findings, checked={"MOV-PAIR": 9}), recording).splitlines()
    assert lines[1] == "2 root causes, 2 consequences, since step 812"
    blocks = [line for line in lines if line.startswith("E  ")]
    assert blocks == ["E  MOV-PAIR · step 812 · request 7", "E  OWN-LEAK · step 900 · request 9"]
    assert "   then     MOV-HAZARD step 812 · LEN-TOKEN step 813 (391 times, request 7)" in lines


def test_each_consequence_stands_under_one_root_cause(recording: Recording) -> None:
    findings = (
        finding("RPL-SHADOW", 4, step=812, cause=5),
        finding("MOV-PAIR", 5, step=812),
        finding("MOV-HAZARD", 5, step=812),
        finding("RPL-SHADOW", 6, step=813, cause=4),
    )
    lines = shown(CheckResult(findings=findings, checked={"MOV-PAIR": 9}), recording).splitlines()
    assert lines[1] == "2 root causes, 2 consequences, since step 812"
    assert [line for line in lines if "then" in line] == ["   then     RPL-SHADOW steps 812 to 813 (2 times)"]


def test_findings_of_several_processes_name_theirs(recording: Recording) -> None:
    findings = tuple(finding("MOV-PAIR", 5, step=812, process=process) for process in ("tp0", "tp1"))
    text = shown(CheckResult(findings=findings, checked={"MOV-PAIR": 9}), recording)
    heads = [line for line in text.splitlines() if line.startswith("E  ")]
    assert heads == ["E  MOV-PAIR · process tp0 · step 812", "E  MOV-PAIR · process tp1 · step 812"]


def test_no_instance_is_no_share(recording: Recording) -> None:
    text = shown(CheckResult(), recording)
    assert "there is no instance of any rule" in text and "%" not in text


def test_tables_that_are_all_gone_are_missed(recording: Recording) -> None:
    (file,) = recording.path.glob("*/process.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"events": 652}))
    assert "process.json" not in shown(CheckResult(), Recording.open(recording.path))
    for part in recording.path.glob("*/*/*.parquet"):
        part.unlink()
    text = shown(CheckResult(), Recording.open(recording.path))
    assert "   lost     process.json names 652 events; no table of them is there" in text.splitlines()


def test_nothing_judged_is_not_called_clean(recording: Recording) -> None:
    text = shown(CheckResult(unknown=(Unknown(rule="X", why="why so", instances=3),)), recording)
    assert text.splitlines()[0].startswith("? ")
    assert "nothing could be judged" in text
    assert "X (why so)" in text


def test_more_roots_than_fit_are_named(recording: Recording) -> None:
    many = tuple(finding("MOV-PAIR", i, step=i, request=f"r{i}") for i in range(30))
    text = shown(CheckResult(findings=many, checked={"MOV-PAIR": 30}), recording)
    assert text.count("E  MOV-PAIR") == 3
    assert "step 3 · request r3;" in text
    assert "and 19 more (--verbose)" in " ".join(text.split())
    assert shown(CheckResult(findings=many), recording, verbose=True).count("E  MOV-PAIR") == 30


def test_text_of_the_recording_is_escaped(record: Build, verify: Build) -> None:
    evil = "\x1b[2J\u202eevil\n"
    recording = record(verify(request=evil, bonus_token=1), head={"engine": evil})
    text = shown(check(recording), recording)
    assert "evil" in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert "E  ACC-SHIFT · step 1 · request \\x1b[2J\\u202eevil\\n\n" in text


def test_colour_says_nothing_that_the_text_does_not(recording: Recording) -> None:
    result = CheckResult(findings=(finding("MOV-PAIR", 5),), checked={"MOV-PAIR": 1})
    colored = shown(result, recording, color=True)
    for code in ("\x1b[1;31m", "\x1b[1m", "\x1b[0m"):
        assert code in colored
        colored = colored.replace(code, "")
    assert colored == shown(result, recording)


def test_tables_are_aligned_and_cuts_are_counted() -> None:
    rows = tuple((k, "R 11" if k else None, k * 1000) for k in range(30))
    lines = list(table_lines(Evidence(title="t", columns=("k", "token", "slot"), rows=rows, marked=(2,))))
    assert lines[:4] == [
        " k  token   slot",
        " 0             0",
        " 1  R 11    1000",
        " 2  R 11    2000  ✗",
    ]
    assert lines[-1] == "… 6 more"


def test_a_lost_file_is_no_tick(recording: Recording) -> None:
    result = CheckResult(checked={"ACC-COUNT": 9}, unknown=(Unknown(rule="X", why="w", instances=2),))
    assert shown(result, recording).startswith("✓ ")
    (recording.processes[0].folder / "process.json").unlink()
    damaged = Recording.open(recording.path)
    assert shown(result, damaged).startswith("? ")
    assert "missing: engine, pools" in str(damaged.problems[0]) and "Errno" not in str(damaged.problems[0])


def test_a_finding_of_one_of_several_recorded_processes_names_it(tmp_path: Path) -> None:
    for rank in (0, 1):
        recorder = Recorder(tmp_path / "two.speckv", {"rank": {"tp": rank}})
        recorder.emit("note", level="info", text="x")
        recorder.close()
    text = shown(
        CheckResult(findings=(finding("MOV-PAIR", 0),), checked={"MOV-PAIR": 9}),
        Recording.open(tmp_path / "two.speckv"),
    )
    assert "E  MOV-PAIR · process p" in text
