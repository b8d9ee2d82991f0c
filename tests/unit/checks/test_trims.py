"""OWN-TRIM: cursors that reach past what a session trim keeps; and trims that keep less, or more of a page."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ledgers import Run, rules_of, span

RULE = "OWN-TRIM"


def trimmed(target: int | None = 9, page_size: int = 4, **after: Any) -> Run:
    """A turn of 13 committed positions is trimmed; `after` are the lengths that follow, None for none."""
    run = Run(page_size)
    run.start(1, span(8, 24))
    run.add("lengths", **run.who(1, None, 1), committed=13, allocated=16, cause="verify_commit")
    run.step = 3
    columns = {} if target is None else {"target": target}
    run.release(1, 13, 16, "session_trim", **columns)
    if after:
        run.add("lengths", **run.who(1, None, 1), **(after | {"cause": after.get("cause", "session_trim")}))
    return run


# ---- legitimate patterns: nothing may be reported -------------------------------------------------


@pytest.mark.parametrize(
    "after",
    [
        {"committed": 9, "allocated": 9},
        {"committed": 9, "allocated": 12},
        {"committed": 8, "allocated": 8, "swa_evicted": 8},
        {"committed": 8, "allocated": 9},
        {"committed": 9, "allocated": 9, "swa_evicted": 9},
    ],
    ids=["engine", "rest_of_the_page", "window_past_the_target", "one_token_short", "window_at_the_target"],
)
def test_legitimate(after: dict[str, int]) -> None:
    result = trimmed(**after).check(RULE)
    assert not result.findings and not result.unknown and result.checked[RULE] == 1


def test_nothing_to_trim() -> None:
    assert not trimmed(30, committed=13, allocated=16).check(RULE).findings


def test_the_next_turn_may_be_longer() -> None:
    run = trimmed(committed=9, allocated=9)
    run.add("lengths", **run.who(1, None, 1), committed=30, allocated=32, cause="extend")
    assert not run.check(RULE).findings


def test_the_trim_of_another_row() -> None:
    run = trimmed()
    run.add("lengths", **run.who(2, None, 1), committed=30, allocated=32, cause="session_trim")
    run.add("lengths", **run.who(1, None, 1), committed=9, allocated=9, cause="session_trim")
    result = run.check(RULE)
    assert not result.findings and result.checked[RULE] == 1


def test_a_pool_of_another_namespace() -> None:
    run = trimmed()
    run.add("lengths", **run.who(1, None, 1), committed=30, allocated=32, cause="session_trim", pool="swa")
    run.add("lengths", **run.who(1, None, 1), committed=9, allocated=9, cause="session_trim")
    assert not run.check(RULE).findings


# ---- broken ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({"committed": 10, "allocated": 12}, "the committed length is 10"),
        ({"committed": 9, "allocated": 13}, "the allocated length is 13"),
        ({"committed": 9, "allocated": 12, "swa_evicted": 10}, "the window's cursor is 10"),
        ({"committed": 13, "allocated": 16}, "the committed length is 13, the allocated length is 16"),
    ],
)
def test_a_cursor_past_the_target(after: dict[str, int], said: str) -> None:
    found = trimmed(**after).only_finding(RULE)
    assert (found.step, found.request, found.row, found.epoch) == (3, "r1", 1, 1)
    assert found.message == f"the row is trimmed to 9 positions, but {said}"
    assert found.evidence[0].columns == ("cursor", "before", "at most", "after")
    assert found.evidence[0].rows[0] == ("committed", 13, 9, after["committed"])


def test_single_slots_have_no_rest_of_a_page() -> None:
    run = trimmed(page_size=1, committed=9, allocated=10)
    assert run.only_finding(RULE).actual == "committed 9, allocated 10"


def test_a_commit_past_what_is_allocated_follows_from_it() -> None:
    run = trimmed(page_size=1, committed=10, allocated=9)
    result = run.check(RULE, "LEN-ORDER")
    assert rules_of(result) == {RULE, "LEN-ORDER"}
    assert [f.rule for f in result.findings if f.cause is None] == [RULE]


# ---- unknown --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (trimmed(None, committed=9, allocated=9), "does not tell which length"),
        (trimmed(), "behind the trim were not recorded"),
        (trimmed(committed=30, allocated=32, cause="extend"), "behind the trim were not recorded"),
        (trimmed(committed=9, allocated=None), "behind the trim were not recorded"),
    ],
    ids=["no_target", "no_lengths", "lengths_of_something_else", "no_allocated"],
)
def test_unknown(run: Run, said: str) -> None:
    result = run.check(RULE)
    assert not result.findings and not result.checked[RULE]
    (unknown,) = result.unknown
    assert said in unknown.why


def test_a_page_size_that_nobody_tells_leaves_the_allocated_length_alone() -> None:
    run = trimmed(committed=9, allocated=12)
    run.head["pools"] = []
    run.lines[-2]["page_size"] = None
    assert not run.check(RULE).findings


def test_lost_between_the_trim_and_its_lengths() -> None:
    run = trimmed(committed=13, allocated=16)
    for number, line in enumerate(run.lines):
        line["seq"] = number
    run.lines[-1]["seq"] += 1
    result = run.check(RULE)
    assert not result.findings and result.unknown


def saved_without_lengths(*between: dict[str, Any]) -> Run:
    run = trimmed()
    for columns in between:
        run.add("lengths", **run.who(1, None, 1), **columns)
    run.cache("session_save", span(8, 17), request="r1")
    return run


def test_a_session_is_saved_with_the_lengths_before_the_trim() -> None:
    found = saved_without_lengths().only_finding(RULE)
    assert found.actual == "committed 13, allocated 16"


def test_a_session_is_saved_with_lengths_of_another_cause() -> None:
    result = saved_without_lengths({"committed": 9, "allocated": 9, "cause": "finish"}).check(RULE)
    assert not result.findings and result.unknown


def test_lengths_that_the_recorder_left_out_may_be_noted_late() -> None:
    run = saved_without_lengths()
    run.add("drop", table="lengths", rows=1, why="queue full")
    result = run.check(RULE)
    assert not result.findings and result.unknown
