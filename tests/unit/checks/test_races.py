"""OWN-RACE: pages used by their new holder before the device was done with the old one; and what is no race, or untold."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ledgers import Run, span

RULE = "OWN-RACE"
DONE = 2_000_000


def reused(begin: int | None, **columns: Any) -> Run:
    """r1 runs until `DONE` and ends; r2 gets its pages and begins to run at `begin`."""
    run = Run(4)
    run.start(1, span(8, 16))
    run.forward(1, 7, [15], begin_ns=1_000_000, end_ns=DONE, **columns)
    run.end(1, span(8, 16))
    run.step = 2
    run.start(2, span(8, 12))
    run.forward(2, 0, span(8, 12), "extend", begin_ns=begin, end_ns=3_000_000)
    return run


@pytest.mark.parametrize("begin", [DONE, DONE + 5, DONE - 900], ids=["at_once", "behind", "within_rounding"])
def test_a_new_holder_behind_the_old_one(begin: int) -> None:
    result = reused(begin).check(RULE)
    assert not result.findings and not result.unknown and result.checked[RULE] == 1


def test_a_new_holder_that_begins_early() -> None:
    (found,) = reused(DONE - 40_000).check(RULE).findings
    assert (found.step, found.request, found.row, found.pages) == (2, "r2", 2, (2,))
    assert "began to run 40.0 us before a forward of request r1" in found.message
    assert [row[4] for row in found.evidence[0].rows] == ["r1", "r2"]


def test_a_verify_in_flight_when_its_request_ended() -> None:
    run = reused(DONE + 1)
    run.lines.insert(-4, run.lines[4] | {"begin_ns": DONE, "end_ns": DONE + 500_000})
    assert run.check(RULE).findings
    run.lines[-1]["begin_ns"] = DONE + 500_000
    assert not run.check(RULE).findings


def test_an_old_holder_that_ran_on_is_no_instance() -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.cache("insert", span(20, 28), request="r2")
    run.free(span(8, 16), 1, "duplicate_prefix")
    run.write(1, 0, span(20, 28))
    run.start(2, span(8, 16))
    run.forward(1, 7, [27], begin_ns=5, end_ns=9_000_000)
    run.forward(2, 0, span(8, 16), "extend", begin_ns=10, end_ns=20)
    result = run.check(RULE)
    assert not result.findings and not result.checked[RULE]


def test_other_pages_and_idle_rows() -> None:
    run = reused(DONE - 40_000)
    run.lines[-1]["padded"] = True
    assert not run.check(RULE).findings
    run = reused(DONE - 40_000)
    for line in run.lines[-5:]:
        if line.get("slots") == span(8, 12):
            line["slots"] = span(20, 24)
    assert not run.check(RULE).findings


@pytest.mark.parametrize(("begin", "unknown"), [(DONE, 0), (DONE - 40, 1)], ids=["behind", "overlapping"])
def test_a_row_that_runs_again_on_other_pages(begin: int, unknown: int) -> None:
    run = Run(4)
    run.start(1, span(8, 16))
    run.forward(1, 7, [15], begin_ns=1_000_000, end_ns=DONE)
    run.end(1, span(8, 16))
    run.step = 2
    run.start(1, span(20, 24), "r2", epoch=2)
    run.forward(1, 0, span(20, 24), "extend", request="r2", epoch=2, begin_ns=begin, end_ns=3_000_000)
    result = run.check(RULE)
    assert not result.findings and result.checked[RULE] == 1 - unknown
    assert [each.instances for each in result.unknown if "two lives of the row" in each.why] == [1] * unknown


def why(run: Run) -> str:
    result = run.check(RULE)
    assert not result.findings and not result.checked[RULE]
    (unknown,) = result.unknown
    return unknown.why


def test_without_device_times_nothing_is_told() -> None:
    run = reused(None)
    for line in run.lines:
        line.pop("begin_ns", None), line.pop("end_ns", None)
    assert "no device times" in why(run)


@pytest.mark.parametrize("lacking", ["begin_ns", "end_ns"])
def test_a_time_that_is_missing(lacking: str) -> None:
    run = reused(DONE - 40_000)
    forwards = [line for line in run.lines if line["event"] == "forward"]
    forwards[lacking == "begin_ns"][lacking] = None
    assert "times of a forward" in why(run)


def test_a_hole_in_between() -> None:
    run = reused(DONE - 40_000)
    for number, line in enumerate(run.lines):
        line["seq"] = number + (number > 6)
    assert not run.check(RULE).findings
