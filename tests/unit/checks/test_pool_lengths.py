"""LEN-ORDER and LEN-COMMIT in pools beside the main one, and at releases."""

from __future__ import annotations

from typing import Any

import pytest

from speckv_debug.model.finding import CheckResult
from tests.told_lengths import Lengths

ORDER, COMMIT = "LEN-ORDER", "LEN-COMMIT"
FULL = {"name": "full", "kind": "full", "slots": 64, "page_size": 1, "reserved_slots": 1}
POOLS = [
    FULL,
    {"name": "draft", "kind": "draft", "allocated_by": "full"},
    {"name": "swa", "kind": "swa", "slots": 32, "page_size": 1},
    {"name": "c128", "kind": "c128", "slots": 8, "page_size": 1},
]


def reasons(result: CheckResult) -> dict[str, int]:
    assert not result.findings
    return {unknown.why: unknown.instances for unknown in result.unknown}


# ---- LEN-ORDER ------------------------------------------------------------------------------------


@pytest.mark.parametrize("pool", ["full", "draft", "swa", "c128"])
@pytest.mark.parametrize(
    ("committed", "allocated", "broken"), [(4, 8, False), (9, 8, True), (-1, 8, True), (8, 8, False)]
)
def test_lengths_of_any_pool(pool: str, committed: int, allocated: int, broken: bool) -> None:
    run = Lengths(pools=POOLS)
    run.told(committed, allocated, "extend", pool=pool)
    found = run.check(ORDER).findings
    assert [(finding.pool, finding.request) for finding in found] == ([(pool, "r1")] if broken else [])


@pytest.mark.parametrize(
    ("pool", "broken"), [("full", True), ("draft", True), ("swa", False), ("c128", False)]
)
def test_the_width_is_that_of_pools_with_the_row_s_own_slots(pool: str, broken: bool) -> None:
    run = Lengths(pools=POOLS)
    run.told(4, 65, "extend", pool=pool)
    assert bool(run.check(ORDER).findings) == broken


def test_a_pool_that_tells_no_lengths_is_unknown() -> None:
    run = Lengths(pools=POOLS)
    run.add("lengths", **run.who(1, None, 1), cause="extend", pool="swa")
    assert reasons(run.check(ORDER)) == {"no lengths": 1}


@pytest.mark.parametrize(
    ("committed", "allocated", "broken"), [(4, 8, False), (9, 8, True), (4, -2, True), (4, 65, True)]
)
@pytest.mark.parametrize("kind", ["finish", "retract", "abort"])
def test_lengths_of_a_release(committed: int, allocated: int, broken: bool, kind: str) -> None:
    run = Lengths()
    run.release(1, committed, allocated, kind=kind)
    assert bool(run.check(ORDER).findings) == broken


def test_a_release_that_tells_no_lengths_is_unknown() -> None:
    run = Lengths()
    run.add("release", **run.who(1, None, 1), kind="finish")
    assert reasons(run.check(ORDER)) == {"no lengths": 1}


# ---- LEN-COMMIT -----------------------------------------------------------------------------------


def committing(*committed: int, pool: str = "draft", start: int = 9, **head: Any) -> Lengths:
    """Two verifies of 3 and 2 rows from length 10, and what a pool beside the main one commits of them."""
    run = Lengths(pools=POOLS, **head)
    run.told(10, 20, "extend")
    run.told(start, 20, "extend", pool=pool)
    run.step = 2
    run.verify(10, 3)
    run.step = 3
    run.verify(13, 2)
    for step, (main, beside) in enumerate(zip((13, 15), committed, strict=False), start=2):
        run.step = step
        run.told(main, 20, "verify_commit")
        run.told(beside, 20, "verify_commit", pool=pool)
    return run


@pytest.mark.parametrize("pool", ["draft", "swa"])
def test_a_pool_grows_by_what_was_accepted(pool: str) -> None:
    result = committing(12, 14, pool=pool).check(COMMIT)
    assert not result.findings and not result.unknown
    assert result.checked[COMMIT] == 4


@pytest.mark.parametrize(("pool", "second"), [("draft", 13), ("draft", 15), ("swa", 13)])
def test_a_pool_grows_by_another_number(pool: str, second: int) -> None:
    (finding,) = committing(12, second, pool=pool).check(COMMIT).findings
    assert (finding.step, finding.pool, finding.expected) == (3, pool, "committed 14 = 12 + accept_len 2")
    assert finding.message.endswith(f"the host committed {second - 12} in pool {pool}")


@pytest.mark.parametrize(
    ("pool", "first", "broken"), [("draft", 11, False), ("draft", 7, True), ("swa", 11, True)]
)
def test_the_first_commit_of_a_draft_cache_shows_its_offset(pool: str, first: int, broken: bool) -> None:
    result = committing(first, first + 2, pool=pool).check(COMMIT)
    assert bool(result.findings) == broken
    assert broken or sum(unknown.instances for unknown in result.unknown) == 1


def test_a_cut_keeps_fewer() -> None:
    run = committing(12, 13)
    run.lines[-1]["cut"] = "stop"
    assert not run.check(COMMIT).findings


def test_units_that_are_not_tokens_are_unknown() -> None:
    why = "the lengths of the pool may count other units than tokens"
    assert reasons(committing(1, 1, pool="c128", start=1).check(COMMIT)) == {why: 2}


def test_a_commit_without_its_accept_is_unknown() -> None:
    run = committing(12, 14)
    run.lines = [line for line in run.lines if line["event"] != "accept"]
    assert reasons(run.check(COMMIT)) == {"no accept of the same step and row": 4}
