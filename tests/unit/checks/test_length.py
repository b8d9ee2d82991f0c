"""LEN: what breaks the laws of lengths, and what only looks so."""

from __future__ import annotations

from typing import Any

import pytest

from speckv_debug.model.finding import Finding
from tests.ledgers import Run, rules_of

LEN = ("LEN-SEQ", "LEN-ORDER", "LEN-COMMIT", "LEN-STALE", "LEN-ALLOC")


class Lengths(Run):
    """A run of one request that only its lengths are told of."""

    def told(
        self, committed: int, allocated: int, cause: str, *, row: int = 1, epoch: int = 1, **columns: Any
    ) -> None:
        who = self.who(row, None, epoch)
        self.add("lengths", **who, committed=committed, allocated=allocated, cause=cause, **columns)

    def verify(self, seq_len: int, accept_len: int, *, row: int = 1, epoch: int = 1, **columns: Any) -> None:
        line = {"algorithm": "eagle", "seq_len": seq_len, "accept_len": accept_len} | columns
        line.setdefault("new_seq_len", seq_len + accept_len)
        self.add("accept", **self.who(row, None, epoch), **line)

    def reserve(
        self,
        committed: int,
        allocated: int,
        reserve: int,
        grown: int,
        *,
        granted: bool = True,
        **columns: Any,
    ) -> None:
        line = {"page_size": self.page_size, "new_allocated": grown} | columns
        self.add(
            "reserve",
            **self.who(1, None, 1),
            committed=committed,
            allocated=allocated,
            reserve=reserve,
            **line,
        )
        if granted and grown > allocated:
            slots = list(range(100 + allocated, 100 + grown))
            self.add("alloc", pool="full", **self.who(1, None, 1), slots=slots, reason="spec_reserve")


def found(run: Run, rule: str) -> list[Finding]:
    result = run.check(*LEN)
    assert rules_of(result) <= {rule}, result.findings
    return list(result.findings)


# ---- LEN-SEQ --------------------------------------------------------------------------------------


def two_verifies(second: int, **first: Any) -> Lengths:
    run = Lengths()
    run.step = 2
    run.verify(10, 3, **first)
    run.step = 3
    run.verify(second, 1)
    return run


def test_the_next_verify_starts_where_the_one_before_ended() -> None:
    assert not found(two_verifies(13), "LEN-SEQ")


@pytest.mark.parametrize("second", [12, 14])
def test_the_next_verify_starts_elsewhere(second: int) -> None:
    (finding,) = found(two_verifies(second), "LEN-SEQ")
    assert (finding.step, finding.request, finding.expected, finding.actual) == (
        3,
        "r1",
        "seq_len 13",
        f"seq_len {second}",
    )


def test_the_new_length_is_not_the_sum() -> None:
    (finding,) = found(two_verifies(13, new_seq_len=12), "LEN-SEQ")
    assert finding.step == 2 and finding.actual == "new_seq_len 12"


@pytest.mark.parametrize(
    "between",
    [
        {"event": "lengths", "cause": "extend", "committed": 20, "allocated": 20},
        {"event": "lengths", "cause": "session_trim", "committed": 4, "allocated": 8},
        {"event": "lengths", "cause": "decode", "committed": 14, "allocated": 20},
        {"event": "lengths", "cause": "verify_commit", "committed": 12, "allocated": 20, "cut": "grammar"},
        {"event": "forward", "mode": "extend"},
        {"event": "release", "kind": "session_trim", "target": 4},
    ],
    ids=lambda line: f"{line['event']}-{line.get('cause') or line.get('mode') or line.get('kind')}",
)
def test_what_changes_a_length_between_two_verifies(between: dict[str, Any]) -> None:
    run = two_verifies(21)
    run.lines.insert(1, {"step": 3} | between | run.who(1, None, 1))
    assert not run.check("LEN-SEQ").findings


def test_another_epoch_starts_over() -> None:
    run = two_verifies(13)
    run.verify(5, 1, epoch=2)
    assert not found(run, "LEN-SEQ")


def test_a_jump_is_unknown_where_nothing_would_show_its_cause() -> None:
    run = two_verifies(21)
    run.head["tables"] = ["accept"]
    result = run.check("LEN-SEQ")
    assert not result.findings and result.checked["LEN-SEQ"] == 1


def test_uno_verifies_from_one_past_the_frontier() -> None:
    run = two_verifies(13, new_seq_len=14, algorithm="uno")
    assert not run.check("LEN-SEQ").findings


def test_a_hole_between_two_verifies() -> None:
    run = two_verifies(21)
    run.lines[1]["seq"] = 5
    assert not run.check("LEN-SEQ").findings


# ---- LEN-ORDER ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("committed", "allocated", "cause", "head", "broken"),
    [
        (5, 5, "extend", {}, False),
        (6, 5, "decode", {}, True),
        (-1, 5, "decode", {}, True),
        (64, 65, "decode", {}, True),
        (64, 64, "decode", {}, False),
        (9, 0, "finish", {}, False),
        (9, 0, "retract", {}, False),
        (6, 5, "spec_prepare", {}, True),
        (6, 5, "spec_prepare", {"engine_version": "0.5.14"}, False),
        (7, 5, "spec_prepare", {"engine_version": "0.5.14"}, True),
        (6, 5, "spec_prepare", {"engine_version": None}, False),
        (6, 5, "spec_prepare", {"engine": "reference"}, True),
    ],
)
def test_order(committed: int, allocated: int, cause: str, head: dict[str, Any], broken: bool) -> None:
    run = Lengths(**head)
    run.told(committed, allocated, cause)
    assert bool(run.check("LEN-ORDER").findings) == broken


def test_a_row_without_a_known_width_has_no_end() -> None:
    run = Lengths(settings={})
    run.told(64, 4096, "decode")
    assert not run.check("LEN-ORDER").findings


def test_a_reserve_beyond_the_row() -> None:
    run = Lengths()
    run.reserve(60, 60, 6, 66)
    (finding,) = run.check("LEN-ORDER").findings
    assert "66" in finding.message and finding.actual is not None


# ---- LEN-COMMIT -----------------------------------------------------------------------------------


def overlapped(*commits: int, **head: Any) -> Lengths:
    """Two verifies of 3 and 2 rows, committed one step late."""
    run = Lengths(**head)
    run.told(10, 20, "extend")
    run.step = 2
    run.verify(10, 3)
    run.step = 3
    run.verify(13, 2)
    for step, committed in enumerate(commits, start=2):
        run.step = step
        run.told(committed, 20, "verify_commit")
    return run


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
    result = run.check("LEN-COMMIT", "LEN-SEQ")
    (finding,) = result.findings
    assert (finding.rule, finding.step, finding.request) == ("LEN-COMMIT", 2, "r1")
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
    assert result.checked == {"LEN-ORDER": 8, "LEN-ALLOC": 3}


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
