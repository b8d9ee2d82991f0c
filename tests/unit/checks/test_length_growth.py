"""LEN-ALLOC: how far rows grow, and reports and grants that have to agree with it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ledgers import Run, rules_of
from tests.told_lengths import LEN, Lengths, found

# ---- reports and grants ---------------------------------------------------------------------------


def grown(**head: Any) -> Lengths:
    """A prompt, a preparation, a commit, the end; every report as it should be."""
    run = Lengths(**head)
    run.grow(1, [4, 5, 6], start=0, reason="extend")
    run.step = 2
    run.reserve(3, 3, 2, 5)
    run.add("table_write", row=1, epoch=1, start=3, slots=[103, 104])
    run.told(3, 5, "spec_prepare")
    run.verify(3, 2)
    run.told(5, 5, "verify_commit")
    run.release(1, 5, 5)
    run.free([4, 5, 6, 103, 104], 1)
    return run


def at(run: Run, event: str, number: int = 0) -> dict[str, Any]:
    return [line for line in run.lines if line["event"] == event][number]


def test_reports_that_repeat_and_grants_that_arrive() -> None:
    result = grown().check("LEN-ORDER", "LEN-ALLOC")
    assert not result.findings and not [u for u in result.unknown if u.instances]
    assert result.checked == {"LEN-ORDER": 9, "LEN-ALLOC": 3}


@pytest.mark.parametrize(
    ("event", "number", "columns", "rule"),
    [
        ("reserve", 0, {"committed": 4, "new_allocated": 5, "reserve": 1}, "LEN-ORDER"),
        ("lengths", 1, {"committed": 2}, "LEN-ORDER"),
        ("lengths", 2, {"allocated": 6}, "LEN-ORDER"),
        ("release", 0, {"committed": 4}, "LEN-ORDER"),
        ("release", 0, {"allocated": 6}, "LEN-ORDER"),
        ("lengths", 0, {"allocated": 4}, "LEN-ALLOC"),
        ("table_write", 0, {"slots": [4, 5]}, "LEN-ALLOC"),
        ("table_write", 0, {"slots": [4, 5, 9]}, "LEN-ALLOC"),
        ("table_write", 1, {"start": 4}, "LEN-ALLOC"),
        ("table_write", 1, {"slots": [104, 103]}, "LEN-ALLOC"),
    ],
)
def test_a_report_or_a_row_that_is_at_odds(
    event: str, number: int, columns: dict[str, Any], rule: str
) -> None:
    run = grown()
    line = at(run, event, number)
    line |= columns
    findings = run.check("LEN-ORDER", "LEN-ALLOC").findings
    assert rule in {finding.rule for finding in findings if finding.cause is None}
    assert {(finding.step, finding.request) for finding in findings} >= {(line["step"], "r1")}


@pytest.mark.parametrize(
    ("event", "number"), [("table_write", 0), ("lengths", 0), ("lengths", 1), ("table_write", 1)]
)
def test_a_grant_that_no_row_takes_or_nobody_reports(event: str, number: int) -> None:
    run = grown()
    run.lines.remove(at(run, event, number))
    assert rules_of(run.check("LEN-ALLOC")) == {"LEN-ALLOC"}
    run = grown()
    at(run, event, number)["row"] = None
    result = run.check("LEN-ALLOC")
    assert not result.findings and any(u.instances for u in result.unknown)


def test_a_prompt_behind_a_served_prefix() -> None:
    run = grown()
    at(run, "table_write")["slots"] = [20, 21, 4, 5, 6]
    for event, number in (("lengths", 0), ("lengths", 1), ("lengths", 2), ("reserve", 0), ("release", 0)):
        line = at(run, event, number)
        line |= {name: line[name] + 2 for name in ("committed", "allocated", "new_allocated") if name in line}
    at(run, "table_write", 1)["start"] = at(run, "accept")["seq_len"] = 5
    assert not run.check("LEN-ORDER", "LEN-ALLOC").findings


@pytest.mark.parametrize("reason", ["load_back", "rollback", "other"])
def test_a_grant_that_is_for_no_row(reason: str) -> None:
    run = grown()
    run.lines.insert(
        0,
        {"event": "alloc", "step": 1, "pool": "full", **run.who(1, None, 1), "slots": [30], "reason": reason},
    )
    assert not run.check("LEN-ALLOC").findings


def test_old_builds_claim_ahead_in_what_they_prepare_from() -> None:
    run = grown(engine_version="0.5.13")
    at(run, "reserve")["committed"] = at(run, "lengths", 1)["committed"] = 4
    assert not run.check("LEN-ORDER").findings
    run.head["engine_version"] = "0.5.21"
    assert run.check("LEN-ORDER").findings


def set_back(version: str = "0.5.12", reason: str | None = "reject") -> Lengths:
    """A verify of four rows of which one is accepted; the worker frees the room of the others."""
    run = Lengths(engine_version=version)
    run.told(10, 10, "extend")
    run.told(10, 14, "spec_prepare")
    run.verify(10, 1)
    run.free([111, 112, 113], reason=reason)
    run.told(11, 11, "verify_commit")
    return run


def test_a_worker_that_frees_what_was_rejected_sets_the_allocated_length_back() -> None:
    assert not set_back().check("LEN-ORDER").findings
    assert not set_back(reason=None).check("LEN-ORDER").findings
    for broken in (set_back("0.5.23"), set_back(reason="evict"), set_back()):
        at(broken, "lengths", 2)["allocated"] = 12 if broken.lines == set_back().lines else 11
        (finding,) = broken.check("LEN-ORDER").findings
        assert finding.message.endswith("allocated, the report before it said 14")


def test_reports_across_a_hole_and_of_an_ended_record_are_left_open() -> None:
    run = grown()
    at(run, "release")["committed"] = 4
    late = run.lines.index(at(run, "release"))
    for number, line in enumerate(run.lines):
        line["seq"] = number + (number >= late)
    assert not run.check("LEN-ORDER").findings
    run = grown()
    run.told(0, 0, "finish")
    assert not run.check("LEN-ORDER").findings


# ---- LEN-ALLOC ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "grown", "broken"),
    [
        ("0.5.12", 22, False),
        ("0.5.15", 22, False),
        ("0.5.15", 24, True),
        ("0.5.16", 24, False),
        ("0.5.16", 22, True),
        ("0.5.23", 24, False),
        ("0.5.23.post1", 22, True),
        (None, 22, False),
        (None, 24, False),
        (None, 23, True),
    ],
)
def test_growth_by_version(version: str | None, grown: int, broken: bool) -> None:
    run = Lengths(4, engine_version=version)
    run.reserve(18, 19, 4, grown)
    assert bool(found(run, "LEN-ALLOC")) == broken


def test_room_that_stays_after_a_reject() -> None:
    run = Lengths(4)
    run.reserve(18, 41, 4, 41)
    assert not found(run, "LEN-ALLOC")


def test_another_engine_may_grow_either_way() -> None:
    for grown, broken in ((22, False), (24, False), (32, True)):
        run = Lengths(4, engine="other", engine_version="0.5.23")
        run.reserve(18, 19, 4, grown)
        assert bool(found(run, "LEN-ALLOC")) == broken


@pytest.mark.parametrize(("widened", "broken"), [(1, True), (2, False)])
def test_the_page_is_the_allocators(widened: int, broken: bool) -> None:
    run = Lengths(8)
    run.head["settings"]["dcp_size"] = widened
    run.reserve(18, 19, 6, 24, page_size=4)
    assert bool(found(run, "LEN-ALLOC")) == broken


@pytest.mark.parametrize(
    ("slots", "granted", "broken"), [(5, True, False), (4, True, True), (0, True, True), (0, False, False)]
)
def test_what_is_granted(slots: int, granted: bool, broken: bool) -> None:
    run = Lengths(4)
    run.reserve(18, 19, 4, 24, granted=False)
    who = run.who(1, None, 1)
    run.add(
        "alloc", pool="full", **who, slots=list(range(8, 8 + slots)), reason="spec_reserve", granted=granted
    )
    run.verify(18, 1)
    assert bool(found(run, "LEN-ALLOC")) == broken


def nothing_granted() -> Lengths:
    """Slots go to the row in another pool and in another step only."""
    run = Lengths(4)
    run.head["pools"].append({"name": "swa", "kind": "swa", "slots": 64, "page_size": 1, "namespace": "swa"})
    run.reserve(18, 19, 4, 24, granted=False)
    run.add("alloc", pool="swa", **run.who(1, None, 1), slots=[8], reason="spec_reserve")
    run.step = 2
    run.add("alloc", pool="full", **run.who(1, None, 1), slots=[9], reason="spec_reserve")
    return run


def test_a_growth_for_which_nothing_is_granted() -> None:
    (finding,) = found(nothing_granted(), "LEN-ALLOC")
    assert finding.message.startswith("0 slots were granted")


def test_a_growth_without_a_grant_is_unknown_where_the_grant_may_be_lost() -> None:
    unlisted, other_reason, unnamed, dropped, hole = (nothing_granted() for _ in range(5))
    unlisted.head["tables"] = ["reserve", "lengths"]
    who = other_reason.who(1, None, 1)
    other_reason.lines.insert(1, {"event": "alloc", "step": 1, "pool": "full", "slots": [8]} | who)
    unnamed.lines.insert(
        1, {"event": "alloc", "step": 1, "pool": "full", "slots": [8], "reason": "spec_reserve"}
    )
    dropped.lines.insert(1, {"event": "drop", "table": "alloc", "rows": 1, "why": "queue full"})
    hole.lines[1]["seq"] = 4
    hole.lines[2]["seq"] = 5
    for run in (unlisted, other_reason, unnamed, dropped, hole):
        result = run.check("LEN-ALLOC")
        assert not result.findings and result.checked["LEN-ALLOC"] == 0
        of_grants = "the recording ends before the row is written"
        assert [u.instances for u in result.unknown if u.instances and u.why != of_grants] == [1]


@pytest.mark.parametrize("slots", [[], [8, 9]])
def test_a_recording_that_ends_behind_a_reserve(slots: list[int]) -> None:
    """The grant, or the rest of it, may come within the step: until the report, the launch, or what is of a later step."""
    run = Lengths(4)
    run.reserve(18, 19, 4, 24, granted=False)
    if slots:
        run.add("alloc", pool="full", **run.who(1, None, 1), slots=slots, reason="spec_reserve")
    result = run.check("LEN-ALLOC")
    assert not result.findings
    assert [u.instances for u in result.unknown if "has to be granted" in u.why] == [1]
    reported, launched, passed = (Lengths(4) for _ in range(3))
    for each in (reported, launched, passed):
        each.lines += run.lines
    reported.told(18, 24, "spec_prepare")
    launched.verify(18, 1)
    passed.step = 2
    passed.add("forward", **passed.who(2, None, 1), mode="extend", start=0)
    for each in (reported, launched, passed):
        assert "for growing from 19 to 24, due are 5" in each.only_finding("LEN-ALLOC").message


def test_the_host_reports_what_it_decided() -> None:
    run = Lengths(4)
    run.reserve(18, 19, 4, 24)
    run.told(18, 23, "spec_prepare")
    (finding,) = found(run, "LEN-ALLOC")
    assert "23" in finding.message


@pytest.mark.parametrize(
    ("grown", "told", "verdict"), [(24, 24, "ok"), (24, None, "unknown"), (24, 23, "bad"), (28, 28, "bad")]
)
def test_a_growth_of_which_no_allocation_is_recorded(grown: int, told: int | None, verdict: str) -> None:
    run = Lengths(4)
    run.head["tables"] = ["reserve", "lengths"]
    run.reserve(18, 19, 4, grown, granted=False)
    if told is not None:
        run.told(18, told, "spec_prepare")
    result = run.check("LEN-ALLOC")
    assert (result.checked["LEN-ALLOC"], bool(result.findings)) == (verdict != "unknown", verdict == "bad")


def test_at_level_1_a_run_is_judged_by_its_lengths_and_verifies() -> None:
    run = Lengths(1)
    run.head["tables"] = ["accept", "move", "lengths", "reserve", "release"]
    run.reserve(10, 10, 4, 14, granted=False)
    run.told(10, 14, "spec_prepare")
    run.verify(10, 2)
    run.told(12, 14, "verify_commit")
    result = run.check(*LEN)
    assert not result.findings and not [u for u in result.unknown if u.instances]
