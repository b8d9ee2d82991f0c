"""A cause is an event: one of the findings that stand there carries what follows."""

from typing import Any

from speckv_debug.model.causes import parents_of, roots_of
from speckv_debug.model.finding import Finding, Severity


def finding(rule: str, seq: int, cause: int | None = None, **columns: Any) -> Finding:
    told = {"severity": Severity.ERROR, "process": "p", "message": ""} | columns
    return Finding(rule=rule, first_seq=seq, cause=cause, **told)


def test_of_two_root_causes_at_an_event_the_first_carries_what_follows() -> None:
    assert parents_of([finding("A", 1), finding("B", 1), finding("C", 2, cause=1)]) == [None, None, 0]


def test_a_root_cause_comes_before_an_earlier_one_that_follows_itself() -> None:
    assert parents_of([finding("A", 1, cause=1), finding("B", 1), finding("C", 2, cause=1)]) == [1, None, 1]


def test_a_cause_may_stand_behind_what_follows_from_it() -> None:
    assert roots_of([finding("A", 1, cause=3), finding("B", 2, cause=1), finding("C", 3)]) == [2, 2, 2]


def test_another_process_and_a_note_are_no_cause() -> None:
    other, note = finding("A", 1, process="q"), finding("A", 1, severity=Severity.NOTE)
    assert parents_of([other, note, finding("B", 2, cause=1)]) == [None, None, None]


def test_a_ring_of_causes_begins_at_its_first_finding() -> None:
    assert roots_of([finding("A", 1, cause=2), finding("B", 2, cause=1), finding("C", 3, cause=2)]) == [
        0,
        0,
        0,
    ]
