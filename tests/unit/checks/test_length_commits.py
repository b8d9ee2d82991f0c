"""LEN-COMMIT and LEN-STALE: what the host commits of a verify, and after the end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ledgers import rules_of
from tests.told_lengths import LEN, Lengths, found, overlapped

# ---- LEN-COMMIT -----------------------------------------------------------------------------------


def test_the_host_lags_one_verify_behind() -> None:
    assert not found(overlapped(13, 15), "LEN-COMMIT")


@pytest.mark.parametrize(("commits", "step"), [((13, 14), 3), ((12, 14), 2), ((13, 16), 3)])
def test_the_host_commits_another_number(commits: tuple[int, int], step: int) -> None:
    (finding,) = found(overlapped(*commits), "LEN-COMMIT")
    assert (finding.step, finding.request, finding.row) == (step, "r1", 1)
    assert finding.evidence[0].marked == (len(finding.evidence[0].rows) - 1,)


@pytest.mark.parametrize(("kept", "broken"), [(1, False), (0, False), (3, True), (-1, True)])
def test_a_cut_keeps_fewer(kept: int, broken: bool) -> None:
    run = overlapped(13, 13 + kept)
    run.lines[-1]["cut"] = "stop"
    assert bool(found(run, "LEN-COMMIT")) == broken


def test_an_accept_without_a_commit_is_no_breach() -> None:
    assert not found(overlapped(13), "LEN-COMMIT")


def test_a_commit_without_its_accept_is_unknown() -> None:
    run = Lengths()
    run.told(10, 20, "extend")
    run.told(13, 20, "verify_commit")
    assert run.check("LEN-COMMIT").checked["LEN-COMMIT"] == 0


def test_a_commit_of_a_step_that_verified_nothing() -> None:
    run = overlapped(13, 15)
    del run.lines[1]
    finding, jump = sorted(run.check("LEN-COMMIT", "LEN-SEQ").findings, key=lambda each: each.rule)
    assert (finding.rule, finding.step, finding.request) == ("LEN-COMMIT", 2, "r1")
    assert (jump.rule, jump.step, jump.expected) == ("LEN-SEQ", 3, "seq_len 10")
    assert "no verify of the step accepted any" in finding.message


def test_a_commit_without_an_accept_stands_at_the_launch_and_explains_the_jump() -> None:
    run = Lengths()
    run.told(10, 20, "extend")
    for step, (start, accepted) in enumerate([(10, 3), (13, 2), (15, 2)], start=2):
        run.step = step
        run.add("forward", mode="target_verify", pool="full", **run.who(1, None, 1), start=start)
        run.verify(start, accepted)
    for run.step, committed in ((2, 13), (3, 15), (4, 17)):
        run.told(committed, 20, "verify_commit")
    del run.lines[4]
    result = run.check("LEN-COMMIT", "LEN-SEQ")
    (root,) = (f for f in result.findings if f.cause is None)
    assert (root.rule, root.step, root.first_seq) == ("LEN-COMMIT", 3, 3)
    assert rules_of(result) == {"LEN-COMMIT", "LEN-SEQ"}


def test_a_commit_without_its_accept_where_one_may_be_lost() -> None:
    run = overlapped(13, 15)
    del run.lines[1]
    for line, seq in zip(run.lines, (0, 2, 3, 4), strict=True):
        line["seq"] = seq
    assert not found(run, "LEN-COMMIT") and run.check("LEN-COMMIT").checked["LEN-COMMIT"] == 1


def passed_over(**between: Any) -> Lengths:
    """Two verifies of which only the later is committed."""
    run = overlapped()
    if between:
        run.lines.insert(2, run.who(1, None, 1) | {"step": 2} | between)
    run.step = 3
    run.told(15, 20, "verify_commit")
    return run


def test_a_verify_that_is_not_committed_though_the_next_one_is() -> None:
    result = passed_over().check("LEN-COMMIT")
    (finding,) = result.findings
    assert (finding.step, finding.first_seq) == (2, 1)
    assert (
        finding.message == "the 3 rows that the verify accepted are not committed, those of the next one are"
    )


@pytest.mark.parametrize(
    "between",
    [
        {"event": "release", "kind": "session_trim", "committed": 10, "allocated": 20, "target": 10},
        {"event": "lengths", "committed": 13, "allocated": 20, "cause": "session_restore"},
    ],
)
def test_the_verify_in_flight_as_a_turn_ends_is_not_committed(between: dict[str, Any]) -> None:
    assert not any("not committed" in f.message for f in passed_over(**between).check("LEN-COMMIT").findings)


def test_a_commit_that_does_not_say_its_step_may_be_the_one_that_lacks() -> None:
    run = overlapped(13, 15)
    run.lines[3]["step"] = None
    assert not found(run, "LEN-COMMIT")


@pytest.mark.parametrize(("found_committed", "place"), [(13, (2, 1)), (14, (4, 3))])
def test_a_report_that_is_missing_is_looked_for_at_its_verify(
    found_committed: int, place: tuple[int, int]
) -> None:
    run = overlapped()
    run.step = 4
    run.reserve(found_committed, 20, 4, 20)
    (finding,) = run.check("LEN-ORDER").findings
    assert (finding.step, finding.first_seq) == place


def test_the_published_length_stands_in_for_an_earlier_report() -> None:
    run = Lengths()
    run.verify(10, 3)
    run.told(13, 20, "verify_commit")
    assert run.check("LEN-COMMIT").checked["LEN-COMMIT"] == 1
    run.lines[-1]["committed"] = 12
    assert run.check("LEN-COMMIT").checked["LEN-COMMIT"] == 0


def test_other_pools_keep_lengths_of_their_own() -> None:
    run = overlapped(13)
    run.told(12, 20, "verify_commit", pool="draft")
    assert not found(run, "LEN-COMMIT")


def preclaiming(short: int = 0, version: str = "0.5.13") -> Lengths:
    """Each preparation commits the bonus, each result the drafts; two preparations run ahead."""
    run = Lengths(engine_version=version)
    run.told(10, 20, "extend")
    run.told(11, 20, "spec_prepare")
    run.step = 2
    run.verify(10, 3)
    run.told(12, 20, "spec_prepare")
    run.step = 3
    run.verify(13, 2)
    run.step = 2
    run.told(14, 20, "verify_commit")
    run.step = 3
    run.told(15 - short, 20, "verify_commit")
    return run


def test_old_builds_commit_the_bonus_ahead_of_the_result() -> None:
    assert not found(preclaiming(), "LEN-COMMIT")
    assert found(preclaiming(short=1), "LEN-COMMIT")
    assert rules_of(preclaiming(version="0.5.15").check(*LEN)) == {"LEN-COMMIT", "LEN-ORDER"}


# ---- LEN-STALE ------------------------------------------------------------------------------------


def late(committed: int, cause: str = "verify_commit", **head: Any) -> Lengths:
    run = overlapped(13, **head)
    run.step = 3
    run.release(1, 13, 20)
    run.add("row_free", **run.who(1, None, 1))
    run.told(committed, 20, cause)
    return run


@pytest.mark.parametrize(
    ("committed", "cause", "head", "broken"),
    [
        (15, "verify_commit", {}, True),
        (2, "verify_commit", {}, True),
        (14, "decode", {}, True),
        (13, "verify_commit", {}, False),
        (0, "verify_commit", {}, False),
        (0, "finish", {}, False),
        (12, "verify_commit", {}, True),
        (12, "verify_commit", {"engine_version": "0.5.13"}, False),
    ],
)
def test_after_the_end(committed: int, cause: str, head: dict[str, Any], broken: bool) -> None:
    findings = found(late(committed, cause, **head), "LEN-STALE")
    assert [(f.step, f.request, f.row) for f in findings] == [(3, "r1", 1)] * broken


def test_a_row_that_lives_again_is_another_epoch() -> None:
    run = late(13)
    run.add("row_alloc", row=1, epoch=2, request="r9")
    run.told(4, 8, "extend", epoch=2)
    run.verify(4, 2, epoch=2)
    run.told(6, 8, "verify_commit", epoch=2)
    assert not found(run, "LEN-STALE")
    run.told(15, 20, "verify_commit")
    assert found(run, "LEN-STALE")


def test_a_session_trim_is_no_end() -> None:
    run = overlapped(13)
    run.step = 3
    run.release(1, 13, 20, "session_trim", target=13)
    run.told(15, 20, "verify_commit")
    assert not found(run, "LEN-STALE")


@pytest.mark.parametrize("again", [13, 16, 18])
def test_a_verify_that_is_committed_twice(again: int) -> None:
    run = overlapped(13)
    run.lines.append(run.lines[-1] | {"committed": again})
    run.step = 3
    run.told(again + 2, 20, "verify_commit")
    (finding,) = (f for f in run.check("LEN-COMMIT").findings if f.first_seq == 4)
    assert finding.step == 2 and ("a second time" in finding.message) == (again > 13)


@pytest.mark.parametrize(
    ("head", "cut", "broken"),
    [
        ({}, {}, True),
        ({}, {"cut": "stop"}, True),
        ({"from_start": False}, {}, False),
        ({"engine_version": "0.5.14"}, {}, False),
    ],
)
def test_a_committed_length_that_is_not_where_the_verify_ended(
    head: dict[str, Any], cut: dict[str, Any], broken: bool
) -> None:
    run = Lengths(**{"from_start": True} | head)
    run.told(11, 20, "extend")
    for run.step, start in ((2, 10), (3, 13)):
        run.verify(start, 3)
        run.told(start + 4, 20, "verify_commit", **cut)
    findings = run.check("LEN-COMMIT").findings
    assert [f.step for f in findings] == ([2] if broken else [])


def test_what_a_cut_leaves_behind_the_device_stays_behind() -> None:
    run = Lengths(from_start=True)
    run.told(10, 20, "extend")
    run.step = 2
    run.verify(10, 3)
    run.told(12, 20, "verify_commit", cut="grammar")
    run.step = 3
    run.verify(13, 3)
    run.told(15, 20, "verify_commit")
    assert not run.check("LEN-COMMIT").findings
