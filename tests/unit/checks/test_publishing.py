"""OWN-PUBLISH: nodes that hold what is not committed, lies elsewhere, or is read before it is written; and those that may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.replay import written_slots
from tests.ledgers import Run, span

RULE = "OWN-PUBLISH"
Scene = Callable[[], Run]


@pytest.fixture(autouse=True, params=["columns_first", "compiled"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What columns alone rule out, compiled code does too."""
    if request.param == "compiled":
        monkeypatch.setattr(written_slots, "COMPILED_FROM", 0)


def prefilled(page_size: int = 4, **head: Any) -> Run:
    run = Run(page_size, **head)
    run.start(1, span(8, 18))
    run.forward(1, 0, span(8, 18), "extend")
    return run


def served(run: Run, slots: list[int]) -> None:
    """r2 matches these slots and runs."""
    run.cache("match", slots, request="r2")
    run.start(2, [])
    run.write(2, 0, slots)
    run.grow(2, [40], start=len(slots))
    run.forward(2, len(slots), [40], "extend")


# ---- legitimate patterns: nothing may be reported -------------------------------------------------


def written_published_and_read() -> Run:
    run = prefilled()
    run.cache("insert", span(8, 16), request="r1")
    run.step = 2
    served(run, span(8, 16))
    return run


def published_when_it_is_scheduled() -> Run:
    """The write comes behind the insert and before the reader, in the order of one stream."""
    run = Run(4)
    run.start(1, span(8, 18))
    run.cache("insert", span(8, 16), request="r1")
    run.forward(1, 0, span(8, 18), "extend")
    run.step = 2
    served(run, span(8, 16))
    return run


def written_and_read_by_one_launch() -> Run:
    run = Run(4)
    run.start(1, span(8, 18))
    run.cache("insert", span(8, 16), request="r1")
    served(run, span(8, 16))
    run.forward(1, 0, span(8, 18), "extend")
    run.step = 2
    run.forward(1, 10, [18])
    return run


def at_the_end_of_a_request() -> Run:
    run = prefilled()
    run.release(1, 10, 10)
    run.cache("insert", span(8, 16), request="r1")
    run.free(span(16, 18), 1)
    run.add("row_free", **run.who(1, None, 1))
    return run


def a_later_part_of_a_prefix() -> Run:
    run = prefilled()
    run.cache("insert", span(12, 16), start=4, request="r1")
    return run


def loaded_back_and_split() -> Run:
    run = Run(4)
    run.start(1, [])
    run.add("alloc", pool="full", **run.who(1, None, 1), slots=span(8, 16), reason="load_back")
    run.write(1, 0, span(8, 16))
    run.add("lengths", **run.who(1, None, 1), committed=8, allocated=8, cause="extend")
    run.cache("insert", span(8, 16), request="r1")
    run.step = 2
    served(run, span(8, 16))
    return run


def surplus_behind_the_last_token() -> Run:
    run = prefilled()
    run.grow(1, span(18, 26), start=10, reason="spec_reserve")
    run.forward(1, 10, span(18, 22), "target_verify")
    run.add("lengths", **run.who(1, None, 1), committed=13, allocated=18, cause="verify_commit")
    run.cache("insert", span(8, 20), request="r1")
    return run


LEGITIMATE: tuple[Scene, ...] = (
    written_published_and_read,
    published_when_it_is_scheduled,
    written_and_read_by_one_launch,
    at_the_end_of_a_request,
    a_later_part_of_a_prefix,
    loaded_back_and_split,
    surplus_behind_the_last_token,
)


@pytest.mark.parametrize("scene", LEGITIMATE, ids=lambda scene: scene.__name__)
def test_legitimate(scene: Scene) -> None:
    result = scene().check(RULE)
    assert not result.findings and not result.unknown
    assert result.checked[RULE] == 1


# ---- broken ---------------------------------------------------------------------------------------


def test_positions_that_are_not_committed() -> None:
    run = prefilled()
    run.grow(1, span(18, 20), start=10, reason="spec_reserve")
    run.add("lengths", **run.who(1, None, 1), committed=11, allocated=12, cause="verify_commit")
    run.step = 3
    run.cache("insert", span(8, 20), request="r1")
    found = run.only_finding(RULE)
    assert (found.step, found.request, found.slots, found.pages) == (3, "r1", (19,), (4,))
    assert found.message == "position 11 of request r1 becomes matchable without being committed"


def test_slots_that_the_row_does_not_name_there() -> None:
    run = prefilled()
    run.cache("insert", [*span(8, 12), *span(20, 24)], request="r1")
    found = run.only_finding(RULE)
    assert (
        "takes slots [20, 24) for positions [4, 8) of request r1, whose row names [12, 16)" in found.message
    )
    assert found.evidence[0].rows[0] == (4, 20, 12)


def read_before_it_is_written() -> Run:
    run = Run(4)
    run.start(1, span(8, 18))
    run.cache("insert", span(8, 16), request="r1")
    inserted = len(run.lines) - 1
    run.step = 2
    served(run, span(8, 16))
    run.step = 3
    run.forward(1, 0, span(8, 18), "extend")
    run.lines[inserted]["node"] = 5
    return run


def test_a_node_that_is_read_before_it_is_written() -> None:
    found = read_before_it_is_written().only_finding(RULE)
    assert (
        found.request == "r1" and "was served and read at a step before anyone wrote to it" in found.message
    )


def test_a_node_that_is_read_and_never_written() -> None:
    run = read_before_it_is_written()
    run.lines[-1]["slots"] = span(16, 18)
    run.lines[-1]["start"] = 8
    assert run.only_finding(RULE).first_seq == 4


# ---- unknown --------------------------------------------------------------------------------------


def why(run: Run) -> str:
    result = run.check(RULE)
    assert not result.findings and not result.checked[RULE]
    (unknown,) = result.unknown
    return unknown.why


@pytest.mark.parametrize("table", ["row_alloc", "lengths", "table_write"])
def test_what_the_request_was_is_not_known(table: str) -> None:
    run = prefilled()
    run.lines = [line for line in run.lines if table != line["event"] and line["event"] != "forward"]
    run.cache("insert", span(8, 16), request="r1" if table != "row_alloc" else "stranger")
    said = {"row_alloc": "names no request", "lengths": "committed was not", "table_write": "row named there"}
    assert said[table] in why(run)


def test_an_insert_without_its_start() -> None:
    run = prefilled()
    run.cache("insert", span(8, 16), request="r1")
    run.lines[-1]["start"] = None
    assert "at which position" in why(run)


@pytest.mark.parametrize("kinds", [["forward:extend"], []])
def test_writes_that_were_not_recorded_whole(kinds: list[str]) -> None:
    run = read_before_it_is_written()
    run.head["tables"] = [
        "alloc",
        "table_write",
        "row_alloc",
        "row_free",
        "lengths",
        "cache",
        "release",
        *kinds,
    ]
    assert not run.check(RULE).findings


def test_forwards_that_the_recorder_dropped() -> None:
    run = read_before_it_is_written()
    run.add("drop", table="forward", rows=1, why="queue full")
    assert not run.check(RULE).findings


def test_a_hole_in_between() -> None:
    run = read_before_it_is_written()
    for number, line in enumerate(run.lines):
        line["seq"] = number + (number > 4)
    assert not run.check(RULE).findings


def test_a_report_that_may_be_among_what_is_missing() -> None:
    run = prefilled()
    run.grow(1, span(14, 20), start=6)
    run.cache("insert", span(8, 20), request="r1")
    for seq, line in enumerate(run.lines):
        line["seq"] = seq
    report = [line for line in run.lines if line["event"] == "lengths"][-1]
    run.lines.remove(report)
    assert not run.check("OWN-PUBLISH").findings
    drop = {"event": "drop", "table": "lengths", "rows": 1, "why": "queue full"}
    run.lines.insert(report["seq"], drop | {"step": report["step"], "seq": report["seq"]})
    assert not run.check("OWN-PUBLISH").findings
    run.lines.remove(run.lines[report["seq"]])
    for seq, line in enumerate(run.lines):
        line["seq"] = seq
    assert run.check("OWN-PUBLISH").findings
