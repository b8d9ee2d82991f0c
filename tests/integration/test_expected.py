"""Recordings with a known answer: small made-up cases, and real runs of SGLang 0.5.15 with planted faults."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from speckv_debug.checks import RULES
from speckv_debug.checks.run import check
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.terminal import json as json_view

RECORDINGS = Path(__file__).parents[1] / "recordings"
SUFFIXES = {"cases": ".jsonl", "real": ".jsonl.xz"}
EXPECTED = {
    (folder, name): expected
    for folder in SUFFIXES
    for name, expected in json.loads((RECORDINGS / folder / "expected.json").read_text()).items()
}


@dataclass(frozen=True)
class Judged:
    """What should come out, what `check --format json` prints, and the page size to translate slots by."""

    expected: dict[str, Any]
    printed: dict[str, Any]
    page_size: int

    @property
    def serious(self) -> list[dict[str, Any]]:
        return [f for f in self.printed["findings"] if f["severity"] in ("error", "warning")]


@pytest.fixture(scope="module", params=EXPECTED, ids=lambda key: key[1])
def judged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    folder, name = request.param
    out = tmp_path_factory.mktemp("judged") / "x.speckv"
    import_jsonl(RECORDINGS / folder / f"{name}{SUFFIXES[folder]}", out)
    recording, printed = Recording.open(out), io.StringIO()
    json_view.render(check(recording), printed)
    pool = recording.processes[0].info.pool("full")
    assert pool is not None and pool.page_size is not None
    return Judged(EXPECTED[request.param], json.loads(printed.getvalue()), pool.page_size)


def test_no_rule_reports_what_is_not_there(judged: Judged) -> None:
    allowed = {*judged.expected["rules"], *judged.expected.get("may", ())}
    laws = [finding for finding in judged.serious if not finding["rule"].startswith("RPL-")]
    assert not [finding for finding in laws if finding["rule"] not in allowed]


def test_what_replay_reports_follows_from_a_law(judged: Judged) -> None:
    if set(judged.expected["rules"]) <= set(RULES):  # without the law replay may be the one to see it
        replayed = [finding for finding in judged.serious if finding["rule"].startswith("RPL-")]
        assert not [finding for finding in replayed if finding["cause"] is None]


def test_replay_says_nothing_of_a_clean_recording(judged: Judged) -> None:
    if judged.expected["verdict"] == "clean":
        assert not [finding for finding in judged.printed["findings"] if finding["rule"].startswith("RPL-")]


def test_each_due_rule_finds_its_place(judged: Judged) -> None:
    for rule in set(judged.expected["rules"]) & set(RULES):
        found = [finding for finding in judged.serious if finding["rule"] == rule]
        assert any(names(f, judged.expected["where"], judged.page_size) for f in found), (rule, found)


def test_verdict(judged: Judged) -> None:
    if set(judged.expected["rules"]) <= set(RULES):
        assert judged.printed["verdict"] == judged.expected["verdict"]


def test_no_rule_raises(judged: Judged) -> None:
    assert not [unknown for unknown in judged.printed["unknown"] if "raised" in unknown["why"]]


def names(finding: dict[str, Any], where: dict[str, Any], page_size: int) -> bool:
    """Whether a finding names the place: slots in part or by their page, a page or slots of it."""
    slots = set(finding["slots"] or ())
    pages = {*(finding["pages"] or ()), *(slot // page_size for slot in slots)}
    due = dict(where)
    if "page" in due and due.pop("page") not in pages:
        return False
    if "slots" in due:
        named = set(due.pop("slots"))
        if not named & slots and not {slot // page_size for slot in named} & set(finding["pages"] or ()):
            return False
    if "seq" in due and due.pop("seq") != finding["first_seq"]:
        return False
    return all(finding[key] == value for key, value in due.items())
