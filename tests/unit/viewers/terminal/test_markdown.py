"""What one pastes into an issue: the proof with its numbers, and no word of the recording that does anything there."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult, Evidence, Finding, Law, Severity, Unknown
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.terminal.markdown import SHOWN_ROOTS, SHOWN_ROWS, render
from speckv_debug.viewers.terminal.markdown_text import block, plain


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    (tmp_path / "a.jsonl").write_text(
        '{"event":"process","engine":"sglang","engine_version":"0.5.23"}\n'
        '{"event":"note","text":"hello","step":4}\n'
    )
    import_jsonl(tmp_path / "a.jsonl", tmp_path / "a.speckv")
    return Recording.open(tmp_path / "a.speckv")


def written(recording: Recording, result: CheckResult) -> str:
    out = io.StringIO()
    render(recording, result, out)
    return out.getvalue()


def finding(seq: int = 7, **more: object) -> Finding:
    given = {"message": "slot 5 is given out twice", "step": 4, "request": "r1", **more}
    return Finding(
        rule="OWN-ALIAS",
        severity=Severity.ERROR,
        process="tp0",
        first_seq=seq,
        **given,  # type: ignore[arg-type]
    )


def test_a_root_cause_has_its_law_and_its_numbers(recording: Recording) -> None:
    proof = Evidence(title="slot 5", columns=("seq", "holder"), rows=((3, "a"), (7, "r1")), marked=(1,))
    laws = {
        "OWN-ALIAS": Law(
            rule="OWN-ALIAS", severity=Severity.ERROR, law="One slot, one holder.", look_at="alloc"
        )
    }
    result = CheckResult(
        findings=(finding(expected="free", actual="held by a", evidence=(proof,)),),
        checked={"OWN-ALIAS": 9},
        laws=laws,
        unknown=(Unknown(rule="MOV-SRC", why="no moves", instances=1),),
    )
    text = written(recording, result)
    assert text.startswith("**✗ found** · a.speckv")
    assert "1 root cause, since step 4" in text
    assert "judged 90.0 % of 10 instances" in text
    assert "### OWN-ALIAS · step 4 · request r1 (error)" in text
    assert "- law: One slot, one holder.\n- due: free\n- engine: held by a\n- look at: alloc" in text
    assert "```text\nseq  holder\n  3  a\n  7  r1  ✗\n```" in text


def test_more_root_causes_are_counted(recording: Recording) -> None:
    result = CheckResult(findings=tuple(finding(seq) for seq in range(SHOWN_ROOTS + 2)))
    text = written(recording, result)
    assert text.count("### ") == SHOWN_ROOTS
    assert "2 more root causes" in text


def test_nothing_to_find_is_short(recording: Recording) -> None:
    assert written(recording, check(recording)).count("\n") <= 4


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("<img src=x onerror=alert(1)>", "\\<img src=x onerror=alert(1)\\>"),
        ("[a](javascript:1)", "\\[a\\](javascript:1)"),
        ("@everyone", "@<!-- -->everyone"),
        ("fixes #12", "fixes #<!-- -->12"),
        ("http://evil", "http://<!-- -->evil"),
        ("a`b*c_d|e", "a\\`b\\*c\\_d\\|e"),
        ("x\ny\x1b[31m", "x\\\\ny\\\\x1b\\[31m"),
        ("&lt;", "&amp;lt;"),
    ],
)
def test_text_of_a_recording_is_no_markup(hostile: str, shown: str) -> None:
    assert plain(hostile) == shown


def test_a_block_can_not_be_left() -> None:
    text = block(["a", "```` <b>", "c"])
    assert text.startswith("`````text\n") and text.endswith("\n`````")


def test_the_row_that_proves_it_is_there_however_far_down(recording: Recording) -> None:
    rows = tuple((n, f"event {n}") for n in range(40))
    long = Evidence(title="life", columns=("seq", "what"), rows=rows, marked=(31,))
    text = written(recording, CheckResult(findings=(finding(evidence=(long,)),), checked={"OWN-ALIAS": 9}))
    table = text[text.index("```") :].splitlines()
    assert table[SHOWN_ROWS + 2 :][:3] == ["…", " 31  event 31  ✗", "… 27 more"]


def test_the_first_bad_step_is_that_of_the_first_root_cause(recording: Recording) -> None:
    note = replace(finding(1, step=2), severity=Severity.NOTE)
    follows = finding(9, step=3, cause=7)
    assert "1 root cause, 1 consequence, since step 4" in written(
        recording, CheckResult(findings=(note, finding(7), follows), checked={"OWN-ALIAS": 9})
    )


def test_markdown_says_why_its_mark_is_no_tick(recording: Recording) -> None:
    unknown = (Unknown(rule="OWN-ALIAS", why="w", instances=1),)
    (recording.processes[0].folder / "process.json").unlink()
    damaged = Recording.open(recording.path)
    for result, why in (
        (CheckResult(checked={"A": 9}, unknown=unknown), "part of the recording is lost"),
        (
            CheckResult(checked={"A": 9}, unknown=(replace(unknown[0], instances=90),)),
            "part of the recording is lost",
        ),
    ):
        assert written(damaged, result).startswith(f"**? nothing found, {why}**")
    little = CheckResult(checked={"A": 9}, unknown=(replace(unknown[0], instances=90),))
    assert written(recording, little).startswith("**? nothing found, most can't be judged**")


def test_an_overlong_name_hides_no_sentence(recording: Recording) -> None:
    name = "id" * 500_000
    proof = Evidence(title="slot 5", columns=("seq", "holder"), rows=((3, name),))
    text = written(
        recording,
        CheckResult(
            findings=(finding(message=f"request {name} holds slot 5", request=name, evidence=(proof,)),)
        ),
    )
    assert "ididid… \\[1,000,000 characters\\] holds slot 5" in text
    assert len(text) < 4_000 and "`speckv-debug check --format json` has them whole" in text
