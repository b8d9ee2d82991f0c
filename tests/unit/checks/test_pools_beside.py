"""OWN and LOC-OWNED in pools beside the main one: judged by grants and frees, unknown where holders would have to be known."""

from __future__ import annotations

from typing import Any

import pytest

from speckv_debug.model.finding import CheckResult
from speckv_debug.replay import ledger
from tests.ledgers import Run

FULL = {"name": "full", "kind": "full", "slots": 64, "page_size": 1, "reserved_slots": 1}
OTHER = {"name": "other", "kind": "full", "slots": 16, "page_size": 4, "reserved_slots": 4}
LOOSE = {"name": "loose", "kind": "c4_state", "slots": 8, "page_size": None, "reserved_slots": 1}
HOLDERS = "holders are followed in the main pool only"
UNPAGED = "the pages of the pool can't be followed: no page size or no grants"
UNSEEN = "a page of the pool was not seen granted"


@pytest.fixture(params=[1 << 60, 0], ids=["events", "compiled"], autouse=True)
def folded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger says the same event by event and in compiled code."""
    monkeypatch.setattr(ledger, "COMPILED_FROM", request.param)


def reasons(result: CheckResult) -> dict[str, int]:
    assert not result.findings
    return {unknown.why: unknown.instances for unknown in result.unknown}


def beside(**head: Any) -> Run:
    """A request that holds slots 1 and 2 of the main pool, and page 1 of another, that of slots 4 to 7."""
    run = Run(pools=[FULL, OTHER, LOOSE], **head)
    run.start(1, [1, 2])
    run.add("alloc", pool="other", **run.who(1, None, 1), slots=[4, 5], reason="extend")
    return run


def returned(run: Run, slots: list[int], **columns: Any) -> None:
    run.add("free", pool="other", **run.who(1, None, 1), slots=slots, reason="finish", **columns)


# ---- OWN-UAF: forwards ----------------------------------------------------------------------------


def test_a_forward_writes_what_was_granted() -> None:
    run = beside()
    run.forward(1, 2, [6], pool="other")
    result = run.check("OWN-UAF")
    assert not result.findings and not result.unknown and result.checked["OWN-UAF"] == 1


def test_a_forward_writes_what_was_given_back() -> None:
    run = beside()
    run.forward(1, 2, [6], pool="other")
    returned(run, [4])
    run.forward(1, 3, [7], pool="other")
    run.add("alloc", pool="other", **run.who(1, None, 1), slots=[4], reason="extend")
    run.forward(1, 3, [7], pool="other")
    finding = run.only_finding("OWN-UAF")
    assert (finding.pool, finding.pages, finding.slots, finding.request) == ("other", (1,), (7,), "r1")
    assert finding.message.startswith("forward writes to page 1 of pool other, which went to the free list")
    assert run.check("OWN-UAF").checked["OWN-UAF"] == 3


def test_a_free_waits_for_the_end_of_its_group() -> None:
    run = beside()
    run.group("begin")
    returned(run, [4], group=1)
    run.forward(1, 2, [6], pool="other")
    assert not run.check("OWN-UAF").findings
    run.group("end")
    run.forward(1, 2, [6], pool="other")
    assert run.check("OWN-UAF").findings


def test_a_verify_that_was_in_flight_is_unknown() -> None:
    run = beside()
    run.end(1, [1, 2])
    returned(run, [4])
    run.forward(1, 2, [6], pool="other", mode="target_verify")
    assert list(reasons(run.check("OWN-UAF"))) == [
        "the verify was in flight when its request ended: only the stream's order tells which came first"
    ]


@pytest.mark.parametrize(
    ("pool", "slots", "why"),
    [
        ("other", [12], {UNSEEN: 1}),
        ("loose", [3], {UNPAGED: 1}),
        ("draft", [3], {UNPAGED: 1}),
        ("other", [1], {}),
    ],
)
def test_a_forward_of_which_the_grant_is_not_known(pool: str, slots: list[int], why: dict[str, int]) -> None:
    run = beside()
    run.forward(1, 2, slots, pool=pool)
    assert reasons(run.check("OWN-UAF")) == why


def test_rows_that_pad_are_no_instance() -> None:
    run = beside()
    run.forward(1, 2, [12], pool="loose", padded=True)
    run.forward(1, 2, [12], pool="loose", mode="idle")
    result = run.check("OWN-UAF", "LOC-OWNED")
    assert not result.unknown and result.checked == {"OWN-UAF": 0, "LOC-OWNED": 0}


def test_what_is_lost_is_unknown() -> None:
    run = beside()
    run.add("drop", table="alloc", rows=1, why="full")
    run.forward(1, 2, [6], pool="other")
    why = reasons(run.check("OWN-UAF"))
    assert why["the recorder dropped rows of alloc"] >= 1 and run.check("OWN-UAF").checked["OWN-UAF"] == 0


# ---- OWN-UAF: transfers and the tree --------------------------------------------------------------


def moved(run: Run, pool: str, slots: list[int], direction: str = "send") -> CheckResult:
    run.add("transfer", action="begin", direction=direction, request="r1", pool=pool, slots=slots)
    return run.check("OWN-UAF")


def test_a_transfer_reads_what_was_granted() -> None:
    result = moved(beside(), "other", [4, 5])
    assert not result.findings and not result.unknown and result.checked["OWN-UAF"] == 1


def test_a_transfer_reads_what_was_given_back() -> None:
    run = beside()
    returned(run, [4])
    (finding,) = moved(run, "other", [4, 5]).findings
    assert (finding.pool, finding.pages) == ("other", (1,))


@pytest.mark.parametrize(("pool", "slots", "why"), [("other", [12], UNSEEN), ("loose", [3], UNPAGED)])
def test_a_transfer_of_which_the_grant_is_not_known(pool: str, slots: list[int], why: str) -> None:
    assert reasons(moved(beside(), pool, slots)) == {why: 1}


def test_a_transfer_that_writes_is_no_use() -> None:
    result = moved(beside(), "loose", [3], "recv")
    assert not result.unknown and result.checked["OWN-UAF"] == 0


@pytest.mark.parametrize(("pool", "slots", "why"), [("other", [4], {}), ("loose", [3], {UNPAGED: 1})])
def test_a_node_with_slots_of_another_pool(pool: str, slots: list[int], why: dict[str, int]) -> None:
    run = beside()
    run.add("cache", action="insert", slots=slots, start=0, request="r1", pool=pool)
    assert reasons(run.check("OWN-UAF")) == why
    returned(run, [4])
    run.add("cache", action="match", slots=[4], start=0, request="r1", pool="other")
    assert run.check("OWN-UAF").findings


# ---- LOC-OWNED, OWN-LEAK --------------------------------------------------------------------------


@pytest.mark.parametrize(("pool", "why"), [("other", HOLDERS), ("loose", UNPAGED)])
def test_who_holds_what_is_written_is_unknown(pool: str, why: str) -> None:
    run = beside()
    run.forward(1, 2, [6], pool=pool)
    assert reasons(run.check("LOC-OWNED")) == {why: 1}


def test_what_a_request_leaves_behind_is_unknown() -> None:
    run = beside()
    run.end(1, [1, 2])
    run.quiet()
    result = run.check("OWN-LEAK")
    assert reasons(result) == {HOLDERS: 1} and result.checked["OWN-LEAK"] == 1


def test_a_request_that_leaves_nothing_behind() -> None:
    run = beside()
    returned(run, [4])
    run.end(1, [1, 2])
    run.quiet()
    result = run.check("OWN-LEAK")
    assert not result.findings and not result.unknown and result.checked["OWN-LEAK"] == 1


# ---- OWN-CONSERVE ---------------------------------------------------------------------------------


def counted(run: Run, available: int | None, pool: str = "other", total: int | None = 16) -> CheckResult:
    run.add("pool_stat", pool=pool, available=available, evictable=0, protected=0, session=0, total=total)
    return run.check("OWN-CONSERVE")


@pytest.mark.parametrize(("available", "broken"), [(12, False), (16, True), (8, True)])
def test_what_is_free_is_what_was_not_granted(available: int, broken: bool) -> None:
    result = counted(beside(), available)
    assert bool(result.findings) == broken and not result.unknown and result.checked["OWN-CONSERVE"] == 1
    for finding in result.findings:
        assert (finding.pool, finding.expected) == ("other", "12 slots available")


def test_what_came_back_is_free() -> None:
    run = beside()
    returned(run, [4])
    assert not counted(run, 16).findings


@pytest.mark.parametrize(
    ("available", "pool", "total", "why"),
    [
        (None, "other", 16, "a pool_stat does not tell all of its figures"),
        (12, "other", 20, "the pool's total is not the size that the process declares"),
        (8, "loose", 8, UNPAGED),
    ],
)
def test_a_pool_of_which_the_sum_is_not_known(available: int | None, pool: str, total: int, why: str) -> None:
    assert reasons(counted(beside(), available, pool, total)) == {why: 1}


def test_pools_that_share_their_memory_are_unknown() -> None:
    run = beside()
    run.head["pools"] = [FULL, OTHER | {"kind": "swa"}]
    (why,) = reasons(counted(run, 12))
    assert why.startswith("the pools of a hybrid model may share their memory")


def test_frees_that_wait_are_unknown() -> None:
    run = beside()
    run.group("begin")
    returned(run, [4], group=1)
    assert reasons(counted(run, 12)) == {"the pool was counted while a free group was open": 1}
