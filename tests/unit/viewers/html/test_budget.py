"""A page stays below its limit whatever the recording shows, and says what it leaves out for it."""

from __future__ import annotations

import dataclasses
import io
import json
import re

import pytest
from plotly.offline import get_plotlyjs

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult, Evidence, Unknown
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.html.budget import LARGEST, Budget
from speckv_debug.viewers.html.page import render
from tests.reported import DUE, MOVE, PROCESS, accept, broken_run, finding, lengths, recording

SCRIPT = len(get_plotlyjs().encode())
RANKS = 8
OWN = 130_000
"""Bytes of a page beside plotly's script that holds next to nothing."""


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """The broken run as eight ranks had it."""
    folder = tmp_path_factory.mktemp("ranks")
    path = broken_run(folder).path
    (process,) = (each for each in path.iterdir() if each.is_dir())
    for rank in range(1, RANKS):
        (path / f"tp{rank}-pp0-dp0").mkdir()
        for file in process.rglob("*"):
            target = path / f"tp{rank}-pp0-dp0" / file.relative_to(process)
            target.mkdir() if file.is_dir() else target.write_bytes(file.read_bytes())
    return Recording.open(path)


@pytest.fixture(scope="module")
def found() -> CheckResult:
    """Fifty root causes of two dozen consequences, each with a table of a hundred rows."""
    rows = tuple((k, f"row {k}", 42000 + k, 42100 + k) for k in range(100))
    table = Evidence(
        title="moves of the step", columns=("k", "what", "source", "target"), rows=rows, marked=(7,)
    )
    causes = [finding(first_seq=100 * n, evidence=(table,), step=800 + n % 20) for n in range(50)]
    later = [
        dataclasses.replace(root, rule="LEN-TOKEN", cause="MOV-PAIR", first_seq=root.first_seq + k)
        for root in causes
        for k in range(1, 25)
    ]
    return CheckResult(findings=(*causes, *later), unknown=(), checked={"MOV-PAIR": 100, "LEN-TOKEN": 100})


def made(recording: Recording, result: CheckResult, largest: int) -> str:
    out = io.StringIO()
    render(recording, result, out, largest=largest)
    return out.getvalue()


@pytest.mark.parametrize("room", [OWN, 2 * OWN, 4 * OWN, 10 * OWN])
def test_the_page_keeps_to_any_limit(ranks: Recording, found: CheckResult, room: int) -> None:
    page = made(ranks, found, SCRIPT + room)
    assert len(page.encode()) <= SCRIPT + room


def test_without_a_limit_it_would_be_larger(ranks: Recording, found: CheckResult) -> None:
    assert len(made(ranks, found, 10 * LARGEST).encode()) > SCRIPT + 10 * OWN


def test_it_says_in_every_part_what_is_left_out(ranks: Recording, found: CheckResult) -> None:
    page = made(ranks, found, SCRIPT + 17 * OWN // 10)
    assert "more root causes not shown here; " in page
    assert ": left out for size." in page
    assert "more steps around findings left out for size; " in page
    assert "more processes not shown for size; " in page
    assert "1 table left out for size; " in page
    assert "The numbers of these drawings are left out for size." in page


def test_a_part_is_taken_from_its_whole() -> None:
    whole = Budget(100)
    half = whole.part(0.5)
    assert half.takes("ä" * 20) and (half.left, whole.left) == (10, 60)
    assert not half.takes("x" * 11) and (half.left, whole.left) == (10, 60)
    assert whole.takes("x" * 60) and not half.takes("x")


LONG = "id" * 500_000
CONTROLS = "\u202e" * 400_000


@pytest.fixture(scope="module")
def overlong(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A broken run with texts of a megabyte wherever an engine or a recorder can put text."""
    named = {"request": LONG, "row": 7, "epoch": 1}
    granted = {"event": "alloc", "step": 800, "pool": "full", "slots": [4096, 4097], **named}
    events = [{"event": "row_alloc", "step": 800, **named}, granted | {"reason": LONG, "site": LONG}]
    for step in range(800, 816):
        events += [lengths(step, LONG), accept(step, LONG, algorithm=CONTROLS)]
        events += [MOVE if step == 812 else DUE | {"step": step}]
    events += [
        granted | {"event": "free", "step": 816 + k, "reason": f"{k}{LONG}", "site": LONG} for k in (0, 1)
    ]
    events += [{"event": "drop", "step": 818, "table": "accept", "rows": 3, "why": CONTROLS}]
    events += [{"event": "note", "step": 818, "level": LONG, "text": f"{CONTROLS} {LONG}"}]
    process = {
        **PROCESS,
        "engine": LONG,
        "engine_version": "9 " * 500_000,
        "tables": ["accept", "move", "lengths", "alloc", "free", "row_alloc"],
        "pools": [
            {"name": "full", "kind": "full", "slots": 65536, "page_size": 128},
            {"name": LONG, "kind": "swa"},
        ],
        "settings": {"algorithm": CONTROLS, LONG: "x" * 4_000_000},
        "hooks": {LONG: LONG, CONTROLS: None},
    }
    folder = tmp_path_factory.mktemp("overlong")
    written = recording(folder, events, process)
    manifest = written.path / "manifest.json"
    told = json.loads(manifest.read_text()) | {
        "command": ["serve", "--model", "m" * 9_000_000, *["--flag"] * 50_000]
    }
    manifest.write_text(json.dumps(told))
    return Recording.open(written.path)


def test_overlong_texts_do_not_pass_the_limit_and_say_how_long_they_are(overlong: Recording) -> None:
    found = check(overlong, replay="off")
    reasons = tuple(
        Unknown(rule=f"R-{k}", why=f"no {k} {LONG[:2000]}", instances=k + 1) for k in range(20_000)
    )
    page = made(overlong, dataclasses.replace(found, unknown=reasons), LARGEST)
    assert len(page.encode()) <= LARGEST
    shown = page.partition("<script")[0]
    assert "ididid… [1,000,000 characters]" in shown and "[9,000,000 characters]" in shown
    assert re.search(r"… \[of 9,\d{3},\d{3} characters\]", shown)
    assert "19,800 more reasons of" in shown and "speckv-debug check --verbose" in shown
    assert "Overlong texts are cut to their beginning" in shown
    for words in (
        "the move runs backwards",
        "Where it went wrong",
        "Step by step",
        "Hooks that found no function",
    ):
        assert words in shown
    assert "left out for size" not in shown


def test_texts_of_any_usual_length_stay_whole(ranks: Recording, found: CheckResult) -> None:
    assert "characters]" not in made(ranks, found, LARGEST).partition("<script")[0]
