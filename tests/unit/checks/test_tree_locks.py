"""OWN-CONSERVE: locks of the prefix tree that are kept, given up unasked, or not of what was served; and those that may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.model.finding import CheckResult
from speckv_debug.replay import ledger
from tests.ledgers import Run, span

RULE = "OWN-CONSERVE"
PREFIX = span(8, 16)
Scene = Callable[[], Run]


@pytest.fixture(autouse=True, params=["python", "compiled"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests may begin and end in compiled code."""
    if request.param == "compiled":
        monkeypatch.setattr(ledger, "COMPILED_FROM", 0)


def served(**head: Any) -> Run:
    """The tree has two pages from r1; r2 is served them at step 2, gets its row and a page of its own."""
    run = Run(4, **head)
    run.start(1, span(8, 18))
    run.cache("insert", PREFIX, request="r1")
    run.end(1, span(16, 18))
    run.step = 2
    run.cache("match", PREFIX, request="r2")
    run.start(2, [])
    run.write(2, 0, PREFIX)
    run.grow(2, span(20, 24), start=8)
    return run


def ended(run: Run) -> Run:
    """r2 ends, and what it held has settled."""
    run.step += 1
    run.end(2, span(20, 24))
    run.quiet()
    return run


def judged(run: Run) -> CheckResult:
    """What is said of locks; the settled points of these runs do not tell their figures."""
    return run.check(RULE)


def checked(run: Run) -> int:
    result = judged(run)
    assert not result.findings
    return result.checked[RULE]


# ---- legitimate patterns: nothing may be reported -------------------------------------------------


def locked(run: Run, *actions: str) -> Run:
    for action in actions:
        run.cache(action, PREFIX, request="r2")
    return run


def given_up_at_the_end() -> Run:
    run = locked(served(), "lock")
    run.step = 3
    return ended(locked(run, "unlock"))


def held_twice_for_a_moment() -> Run:
    return ended(locked(served(), "lock", "lock", "unlock", "unlock"))


def given_up_behind_the_row() -> Run:
    run = locked(served(), "lock")
    run.end(2, span(20, 24))
    run.cache("unlock", PREFIX, request="r2")
    run.quiet()
    return run


def retracted_and_back() -> Run:
    run = locked(served(), "lock", "unlock")
    run.end(2, span(20, 24))
    run.step = 3
    run.start(2, [], epoch=2)
    locked(run, "lock").write(2, 0, PREFIX, epoch=2)
    run.quiet()
    return run


def part_of_what_was_served_is_gone() -> Run:
    run = served()
    run.cache("match", span(8, 16), request="r3")
    run.cache("evict", span(12, 16), start=4)
    run.cache("lock", span(8, 12), request="r3")
    return run


@pytest.mark.parametrize(
    ("scene", "events"),
    [
        (given_up_at_the_end, 2),
        (held_twice_for_a_moment, 4),
        (given_up_behind_the_row, 2),
        (retracted_and_back, 3),
        (part_of_what_was_served_is_gone, 1),
    ],
)
def test_legitimate(scene: Scene, events: int) -> None:
    assert checked(scene()) == events


# ---- faults ---------------------------------------------------------------------------------------


def found(run: Run) -> tuple[int | None, str | None, str]:
    finding = run.only_finding(RULE)
    assert finding.evidence
    return finding.step, finding.request, finding.message


def test_a_lock_that_is_kept() -> None:
    """Where nothing tells better, what is kept was due at the end."""
    what = "request r2 has ended and did not give up a lock of 8 slots of the prefix tree"
    assert found(ended(locked(served(), "lock"))) == (3, "r2", what)


def test_a_lock_taken_twice_goes_back_to_the_second() -> None:
    run = locked(served(), "lock", "lock")
    run.step = 3
    assert found(ended(locked(run, "unlock")))[:2] == (2, "r2")


def test_a_lock_that_is_given_up_twice() -> None:
    step, request, message = found(ended(locked(served(), "lock", "unlock", "unlock")))
    assert (step, request) == (2, "r2")
    assert message == "request r2 gives up a lock of the prefix tree that it has not taken since"


def test_a_lock_that_was_never_taken_goes_back_to_its_row() -> None:
    run = served()
    run.step = 5
    assert found(ended(locked(run, "unlock")))[:2] == (2, "r2")


def test_a_lock_that_is_not_renewed_goes_back_to_when_it_was_given_up() -> None:
    run = locked(served(), "lock")
    run.step = 3
    run.cache("match", PREFIX, request="r2")
    locked(run, "unlock").step = 4
    run.cache("match", PREFIX, request="r2")
    assert found(ended(locked(run, "unlock")))[:2] == (3, "r2")


def test_another_path_is_given_up() -> None:
    run = locked(served(), "lock")
    run.cache("unlock", span(8, 12), request="r2")
    step, _, message = found(ended(run))
    assert step == 2
    assert message == "request r2 gives up a lock of 4 slots of the prefix tree, but it holds one of 8"


def test_less_is_locked_than_was_served() -> None:
    """What gives it up is no second fault."""
    run = served()
    run.cache("lock", span(8, 12), request="r2")
    what = "request r2 locks 4 of the 8 slots that the prefix tree has just served it"
    assert found(ended(locked(run, "unlock"))) == (2, "r2", what)


@pytest.mark.parametrize("slots", [[*span(8, 12), *span(20, 24)], [*span(12, 16), *span(8, 12)]])
def test_the_tree_holds_something_else_there(slots: list[int]) -> None:
    run = served()
    run.cache("lock", slots, request="r2")
    step, request, message = found(ended(locked(run, "unlock")))
    assert (step, request) == (2, "r2")
    assert message.startswith("request r2 locks 8 slots of the prefix tree, which does not hold page")


# ---- unknown --------------------------------------------------------------------------------------


def why(run: Run) -> set[str]:
    result = judged(run)
    assert not result.findings and not result.checked[RULE]
    return {unknown.why for unknown in result.unknown}


def test_a_lock_of_no_request() -> None:
    run = served()
    run.cache("lock", PREFIX)
    assert any("names no request" in said for said in why(locked(run, "unlock")))


def test_a_lock_of_no_slots() -> None:
    run = served()
    run.cache("lock", None, request="r2")
    assert any("no slots" in said for said in why(locked(run, "unlock")))


def test_a_lock_from_before_the_recording() -> None:
    run = locked(served(from_start=False), "unlock")
    assert any("held the lock before" in said for said in why(run))


def test_a_session_keeps_the_lock() -> None:
    run = locked(served(), "lock")
    run.cache("session_save", [*PREFIX, *span(20, 24)], request="r2")
    run.quiet()
    run.cache("session_close", [*PREFIX, *span(20, 24)], request="r2")
    locked(run, "unlock").free(span(20, 24), 2)
    assert not judged(run).findings


def test_a_hole_in_between() -> None:
    """The lock may be given up and taken again in it."""
    run = locked(locked(served(), "lock"), "unlock", "unlock")
    for number, line in enumerate(run.lines):
        line["seq"] = number + (number >= len(run.lines) - 1)
    assert not judged(run).findings


def test_the_row_names_something_else_there() -> None:
    run = served()
    run.write(2, 4, [21])
    step, request, message = found(ended(locked(run, "lock", "unlock")))
    assert (step, request) == (2, "r2")
    assert message == "request r2 locks 8 slots of the prefix tree, but its row names 21 among them"
