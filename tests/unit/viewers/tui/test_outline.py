"""Findings are read from the cause to what follows from it."""

import dataclasses

from speckv_debug.model.finding import CheckResult, Finding, Severity
from speckv_debug.viewers.tui.outline import Outcome, outcome_of
from speckv_debug.viewers.tui.places import Place
from tests.inspected import LABEL, SmallProcess, SmallRun, broken, consequence, inspection, leak, swapped_move

LOOKUPS = {LABEL: SmallProcess(SmallRun()).lookup}


def outline(*findings: Finding) -> list[tuple[str, int]]:
    result = CheckResult(findings=findings, checked={"X": 1})
    return [(entry.finding.rule, entry.depth) for entry in outcome_of(result, LOOKUPS).entries]


def test_consequences_stand_below_their_cause() -> None:
    assert outline(swapped_move(), leak(), consequence()) == [
        ("MOV-PAIR", 0),
        ("LEN-TOKEN", 1),
        ("OWN-LEAK", 0),
    ]


def test_consequences_of_consequences_stand_deeper() -> None:
    later = dataclasses.replace(leak(), cause=490)
    assert outline(swapped_move(), consequence(), later) == [
        ("MOV-PAIR", 0),
        ("LEN-TOKEN", 1),
        ("OWN-LEAK", 2),
    ]


def test_a_cause_that_is_not_listed_leaves_a_root() -> None:
    assert outline(consequence()) == [("LEN-TOKEN", 0)]


def test_a_cause_at_the_same_event_is_the_root_of_both() -> None:
    same = dataclasses.replace(consequence(), first_seq=460)
    assert outline(same, swapped_move()) == [("MOV-PAIR", 0), ("LEN-TOKEN", 1)]


def test_findings_that_name_each_other_are_all_shown() -> None:
    a, b = (dataclasses.replace(consequence(), rule=rule, first_seq=460) for rule in ("A", "B"))
    assert outline(a, b) == [("A", 0), ("B", 1)]


def test_notes_come_last() -> None:
    note = dataclasses.replace(leak(), severity=Severity.NOTE, first_seq=1)
    assert [rule for rule, _ in outline(note, swapped_move())] == ["MOV-PAIR", "OWN-LEAK"]


def test_a_finding_is_shown_at_the_verify_of_its_own_event() -> None:
    outcome = outcome_of(CheckResult(findings=(swapped_move(),)), LOOKUPS)
    assert outcome.entries[0].place == Place(LABEL, 36)


def test_or_at_the_verify_of_its_request_at_its_step() -> None:
    elsewhere = dataclasses.replace(swapped_move(), first_seq=462, request="chat-19")
    assert outcome_of(CheckResult(findings=(elsewhere,)), LOOKUPS).entries[0].place == Place(LABEL, 38)


def test_or_nowhere() -> None:
    assert outcome_of(CheckResult(findings=(leak(),)), LOOKUPS).entries[0].place is None
    foreign = dataclasses.replace(swapped_move(), process="tp9")
    assert outcome_of(CheckResult(findings=(foreign,)), LOOKUPS).entries[0].place is None


def test_verifies_know_their_findings() -> None:
    outcome = outcome_of(broken(), LOOKUPS)
    assert {i: [f.rule for f in found] for i, found in outcome.marks[LABEL].items()} == {
        36: ["MOV-PAIR"],
        39: ["LEN-TOKEN"],
    }


def test_what_the_headline_needs() -> None:
    outcome = outcome_of(broken(), LOOKUPS)
    assert (outcome.roots, outcome.first_step) == (2, 812)
    assert Outcome(CheckResult()).first_step is None
    assert inspection().facts == "sglang 0.5.23 · EAGLE topk 2 · page 128"
