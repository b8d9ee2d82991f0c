"""LEN-REACH: what breaks the law of reach, and what only looks so."""

from __future__ import annotations

from typing import Any

import pytest

from speckv_debug.model.finding import CheckResult
from tests.ledgers import Run

WIDTH = 3


class Rows(Run):
    """A run of one request whose row is told to have room for ten positions, four of them committed."""

    def __init__(self, **head: Any) -> None:
        super().__init__(**head)
        self.told(4, 4, "extend")
        self.told(4, 10, "spec_prepare")

    def told(self, committed: int, allocated: int | None, cause: str, **columns: Any) -> None:
        who = self.who(1, None, 1)
        self.add("lengths", **who, committed=committed, allocated=allocated, cause=cause, **columns)

    def reserve(self, allocated: int, grown: int) -> None:
        numbers = {"committed": 4, "allocated": allocated, "reserve": 6, "new_allocated": grown}
        self.add("reserve", **self.who(1, None, 1), page_size=1, **numbers)

    def verify(self, seq_len: int | None, *, width: int | None = WIDTH, **columns: Any) -> None:
        self.step += 1
        line = {"algorithm": "eagle", "layout": "chain", "width": width, "accept_len": 1, "seq_len": seq_len}
        self.add("accept", **(self.who(1, None, 1) | line | columns))

    def judged(self) -> CheckResult:
        return self.check("LEN-REACH")


def reasons(result: CheckResult) -> dict[str, int]:
    assert not result.findings
    return {unknown.why: unknown.instances for unknown in result.unknown}


@pytest.mark.parametrize("seq_len", [4, 6, 7])
def test_a_verify_within_its_row(seq_len: int) -> None:
    run = Rows()
    run.verify(seq_len)
    assert not reasons(run.judged())


@pytest.mark.parametrize("seq_len", [8, 9, 30])
def test_a_verify_that_reaches_behind_it(seq_len: int) -> None:
    run = Rows()
    slots = [seq_len + k + 10 for k in range(WIDTH)]
    run.verify(seq_len, out_cache_loc=slots)
    (finding,) = run.judged().findings
    assert (finding.step, finding.request) == (run.step, "r1")
    assert finding.expected == "an end of at most 10"
    assert finding.slots == tuple(slot for slot in slots if slot >= 20)
    reach, behind = finding.evidence
    assert reach.rows[-1] == ("reaches to L + w", seq_len + WIDTH) and len(behind.rows) == len(finding.slots)


@pytest.mark.parametrize("mode", ["extend", "decode"])
def test_a_forward_that_reaches_behind_it(mode: str) -> None:
    run = Rows()
    run.forward(1, 9, [19], mode)
    assert not reasons(run.judged())
    run.forward(1, 10, [20], mode)
    (finding,) = run.judged().findings
    assert finding.message == "the forward writes 1 row from position 10 on, up to 11, 10 are allocated"


def test_a_reserve_tells_the_room_before_the_host_reports_it() -> None:
    run = Rows()
    run.reserve(10, 13)
    run.verify(10)
    assert not reasons(run.judged())
    run.verify(11)
    assert [finding.step for finding in run.judged().findings] == [run.step]


@pytest.mark.parametrize("count", [1, 2])
def test_slots_granted_since_the_last_report(count: int) -> None:
    run = Rows()
    run.add("alloc", pool="full", **run.who(1, None, 1), slots=list(range(20, 20 + count)), reason="decode")
    run.add("alloc", pool="full", **run.who(2, None, 1), slots=[40, 41, 42], reason="decode")
    run.verify(9)
    assert len(run.judged().findings) == (count < 2)


@pytest.mark.parametrize("columns", [{"pool": "swa"}, {"granted": False}])
def test_grants_of_another_pool_or_refused_ones_are_no_room(columns: dict[str, Any]) -> None:
    pools = [
        {"name": n, "kind": n, "slots": 64, "page_size": 1, "reserved_slots": 1} for n in ("full", "swa")
    ]
    run = Rows(pools=pools)
    run.add("alloc", **({"pool": "full"} | run.who(1, None, 1) | {"slots": [20, 21]} | columns))
    run.verify(9)
    assert run.judged().findings


@pytest.mark.parametrize("mode", ["draft", "draft_extend"])
def test_what_a_drafter_writes_is_left_to_others(mode: str) -> None:
    run = Rows()
    run.forward(1, 30, [19], mode, pool="draft")
    result = run.judged()
    assert not result.findings and not result.checked["LEN-REACH"]


def test_a_row_that_pads_the_batch() -> None:
    run = Rows()
    run.add("forward", mode="extend", row=0, start=30, slots=[0], padded=True)
    assert not run.judged().findings


def test_a_trim_takes_room_away_and_the_next_turn_gets_it_back() -> None:
    run = Rows()
    run.told(4, 4, "session_trim")
    run.verify(4)
    assert len(run.judged().findings) == 1
    run = Rows()
    run.told(4, 4, "session_trim")
    run.told(4, 12, "session_restore")
    run.verify(9)
    assert not reasons(run.judged())


def test_a_record_that_is_reset_at_the_end_says_nothing() -> None:
    run = Rows()
    run.told(4, 0, "finish")
    run.verify(7)
    assert not reasons(run.judged())


def test_a_verify_in_flight_at_the_end() -> None:
    run = Rows()
    run.release(1, 4, 10)
    run.told(4, 0, "verify_commit")
    run.verify(7)
    assert not reasons(run.judged())
    run.verify(9)
    assert reasons(run.judged()) == {"the forward was in flight when its request ended": 1}


def test_rows_of_another_epoch_have_room_of_their_own() -> None:
    run = Rows()
    run.verify(4, epoch=2)
    assert reasons(run.judged()) == {"the allocated length was not told before": 1}


def test_growth_that_was_not_recorded_whole() -> None:
    run = Rows(tables=["accept", "forward"])
    run.verify(9)
    assert reasons(run.judged()) == {"growth of rows was not recorded whole": 1}
    run = Rows(tables=["accept", "reserve"])
    run.verify(9)
    assert run.judged().findings


@pytest.mark.parametrize("table", ["lengths", "reserve", "alloc"])
def test_a_growth_that_was_dropped(table: str) -> None:
    run = Rows()
    run.add("drop", table=table, rows=1, why="queue full")
    run.verify(9)
    assert reasons(run.judged()) == {f"the recorder dropped rows of {table}": 1}


@pytest.mark.parametrize("lacking", [{"seq_len": None}, {"width": None}])
def test_a_verify_that_does_not_say_where_or_how_much(lacking: dict[str, Any]) -> None:
    run = Rows()
    run.verify(**({"seq_len": 9} | lacking))
    assert reasons(run.judged()) == {"no length or number of rows": 1}


def test_a_ragged_verify_has_its_own_width() -> None:
    run = Rows()
    run.verify(9, width=1)
    run.verify(9, width=2)
    assert [finding.step for finding in run.judged().findings] == [run.step]
