"""OWN-ROW: rows handed out twice, held twice, given back by another; and rows that only change hands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.ledgers import TABLES, Run, rules_of

RULE = "OWN-ROW"
ENDS = ("row_alloc", "row_free", "release")
Scene = Callable[[], Run]


def told(run: Run, row: int, request: str | None, epoch: int | None = 1) -> None:
    run.add("lengths", row=row, epoch=epoch, request=request, committed=4, allocated=4, cause="extend")


def settled(run: Run) -> None:
    run.add("pool_stat", pool="full", available=64, evictable=0, protected=0, session=0, total=64)


def grant(run: Run, row: int, request: str | None, epoch: int | None = 1) -> None:
    run.add("row_alloc", row=row, epoch=epoch, request=request)


def back(run: Run, row: int, request: str | None, epoch: int | None = 1) -> None:
    run.add("row_free", row=row, epoch=epoch, request=request)


# ---- legitimate patterns: nothing may be reported -------------------------------------------------


def a_row_is_used_again() -> Run:
    run = Run()
    for epoch in (1, 2, 3):
        grant(run, 1, f"r{epoch}", epoch)
        back(run, 1, f"r{epoch}", epoch)
    return run


def a_prompt_in_chunks_asks_again() -> Run:
    run = Run()
    grant(run, 1, "a")
    grant(run, 1, "a")
    back(run, 1, "a")
    return run


def a_retracted_request_gets_another_row() -> Run:
    run = Run()
    grant(run, 1, "a")
    back(run, 1, "a")
    grant(run, 2, "a")
    back(run, 2, "a")
    return run


def a_session_hands_its_row_on() -> Run:
    run = Run()
    grant(run, 1, "turn-1")
    run.cache("session_save", [], request="turn-1")
    run.cache("session_restore", [], request="turn-2")
    run.add("lengths", row=1, epoch=1, request="turn-2", committed=4, allocated=4, cause="session_restore")
    back(run, 1, "turn-2")
    return run


def a_turn_with_the_same_name_takes_another_row() -> Run:
    run = Run()
    grant(run, 1, "turn")
    run.cache("session_save", [], request="turn")
    grant(run, 2, "turn")
    back(run, 2, "turn")
    return run


def the_row_event_of_a_release_is_late() -> Run:
    """The life is over with its release; the pool takes the row back when it hands it out again."""
    run = Run()
    grant(run, 1, "a")
    run.release(1, 4, 4, request="a")
    grant(run, 1, "b", 2)
    return run


def a_session_is_closed() -> Run:
    run = Run()
    grant(run, 1, "turn-1")
    run.add("lengths", row=1, epoch=1, request="turn-1", committed=4, allocated=4, cause="session_trim")
    run.cache("session_save", [], request="turn-1")
    settled(run)
    run.cache("session_close", [], request="turn-1")
    back(run, 1, "turn-1")
    settled(run)
    return run


def a_row_comes_back_with_its_release() -> Run:
    run = Run()
    grant(run, 1, "a")
    run.release(1, 4, 4, request="a")
    back(run, 1, "a")
    settled(run)
    return run


def a_turn_ends_and_its_session_keeps_the_row() -> Run:
    run = Run()
    grant(run, 1, "turn-1")
    run.cache("session_save", [], request="turn-1")
    run.release(1, 4, 4, request="turn-1")
    settled(run)
    return run


def a_result_comes_after_the_row_went_back() -> Run:
    run = Run()
    grant(run, 1, "a")
    told(run, 1, "a")
    back(run, 1, "a")
    run.add("lengths", **run.who(1, "a", 1), committed=6, allocated=8, cause="verify_commit")
    return run


def a_return_without_an_epoch() -> Run:
    run = Run()
    grant(run, 1, "a", 7)
    back(run, 1, "a", None)
    return run


LEGITIMATE: tuple[Scene, ...] = (
    a_row_is_used_again,
    a_prompt_in_chunks_asks_again,
    a_retracted_request_gets_another_row,
    a_session_hands_its_row_on,
    a_session_is_closed,
    a_turn_with_the_same_name_takes_another_row,
    the_row_event_of_a_release_is_late,
    a_row_comes_back_with_its_release,
    a_turn_ends_and_its_session_keeps_the_row,
    a_result_comes_after_the_row_went_back,
    a_return_without_an_epoch,
)


@pytest.mark.parametrize("scene", LEGITIMATE, ids=lambda scene: scene.__name__)
def test_legitimate(scene: Scene) -> None:
    run = scene()
    result = run.check(RULE)
    assert not result.findings and not result.unknown
    naming = (line for line in run.lines if line["event"] in ("row_alloc", "lengths"))
    users = {(line["row"], line["epoch"], line["request"]) for line in naming}
    ends = (line for line in run.lines if line.get("action") == "session_close" or line["event"] in ENDS)
    assert result.checked[RULE] == len(users) + len(list(ends))


# ---- broken ---------------------------------------------------------------------------------------


def test_a_row_handed_out_while_it_is_held() -> None:
    run = Run()
    grant(run, 3, "a", 4)
    run.step = 5
    grant(run, 3, "b", 5)
    found = run.only_finding(RULE)
    assert (found.step, found.request, found.row, found.epoch) == (5, "b", 3, 5)
    assert found.message == "row 3 is handed out to request b (epoch 5) while request a (epoch 4) holds it"
    assert [row[2:4] for row in found.evidence[0].rows] == [("row_alloc", "a"), ("row_alloc", "b")]


def test_two_requests_in_one_epoch() -> None:
    run = Run()
    grant(run, 3, "a", 4)
    grant(run, 3, "b", 4)
    assert "while request a (epoch 4) holds it" in run.only_finding(RULE).message


def test_a_row_that_a_session_keeps() -> None:
    run = Run()
    grant(run, 1, "turn-1")
    run.cache("session_save", [], request="turn-1")
    run.release(1, 4, 4, "session_trim", request="turn-1", target=4)
    grant(run, 1, "b", 2)
    assert run.only_finding(RULE).request == "b"


def test_a_return_after_a_session_that_tells_no_epoch() -> None:
    """It is of the life that the row was granted to, in which the turn ran."""
    run = a_session_hands_its_row_on()
    run.lines[-1]["epoch"] = None
    assert not run.check(RULE).findings
    run.lines[-1]["request"] = "turn-3"
    assert "is given back by request turn-3 while request turn-1" in run.only_finding(RULE).message


def test_a_second_row_of_a_request() -> None:
    run = Run()
    grant(run, 1, "a")
    grant(run, 2, "a")
    found = run.only_finding(RULE)
    assert found.message == "row 2 is handed out to request a (epoch 1), which holds row 1 still"
    assert [evidence.title for evidence in found.evidence] == ["row 2", "row 1"]


def test_a_row_given_back_twice() -> None:
    run = a_row_is_used_again()
    back(run, 1, "r3", 3)
    assert (
        run.only_finding(RULE).message
        == "row 1 is given back by request r3 (epoch 3), but it is free since event 5"
    )


def test_a_row_that_was_never_handed_out() -> None:
    run = Run()
    back(run, 1, "a")
    assert run.only_finding(RULE).actual == "no event of the row before"


@pytest.mark.parametrize(("request_", "epoch"), [("a", 1), ("b", 2), (None, 1)])
def test_a_row_given_back_by_another(request_: str | None, epoch: int) -> None:
    run = Run()
    grant(run, 1, "a")
    back(run, 1, "a")
    grant(run, 1, "c", 2)
    back(run, 1, request_, epoch)
    assert "while request c (epoch 2) holds it" in run.only_finding(RULE).message


def test_a_row_that_is_used_without_having_been_handed_out() -> None:
    run = Run()
    grant(run, 1, "a")
    told(run, 2, "b")
    run.add("reserve", row=2, epoch=1, request="b", committed=4, allocated=4, reserve=4, new_allocated=8)
    found = run.only_finding(RULE)
    assert (found.request, found.row, found.repeats) == ("b", 2, 0)
    assert found.message == "lengths of request b names row 2 (epoch 1), which was not handed out"


def test_a_row_that_is_used_before_it_is_handed_out() -> None:
    run = Run()
    told(run, 1, "a")
    grant(run, 1, "a")
    assert "which is handed out at event 1 only" in run.only_finding(RULE).message


def test_what_is_done_in_the_row_of_another() -> None:
    run = Run()
    grant(run, 1, "a")
    grant(run, 2, "b")
    told(run, 1, "b")
    told(run, 1, "b")
    found = run.only_finding(RULE)
    assert found.message == "lengths of request b names row 1 (epoch 1), which was handed out to request a"
    assert (found.first_seq, found.request) == (2, "b")


def test_a_row_that_grows_after_it_was_given_back() -> None:
    run = Run()
    grant(run, 1, "a")
    back(run, 1, "a")
    run.add("reserve", row=1, epoch=1, request="a", committed=4, allocated=4, reserve=4, new_allocated=8)
    assert "which was given back at event 1" in run.only_finding(RULE).message


@pytest.mark.parametrize("shown_by", ["pool_stat", "launch"])
def test_a_row_that_does_not_come_back(shown_by: str) -> None:
    run = Run()
    grant(run, 1, "a")
    run.release(1, 4, 4, request="a")
    run.step = 2
    if shown_by == "launch":
        run.add("forward", mode="decode", row=2, epoch=None, request="b", pool="full", slots=[])
    else:
        settled(run)
    found = [f for f in run.check(RULE).findings if f.rule == RULE]
    assert [f.message for f in found] == ["request a has ended, and row 1 (epoch 1) is not given back"]
    assert (found[0].step, found[0].request) == (1, "a")


def test_a_row_that_a_closed_session_does_not_give_back() -> None:
    run = a_session_is_closed()
    del run.lines[5]
    found = run.only_finding(RULE)
    assert (found.request, found.row, found.first_seq) == ("turn-1", 1, 4)


def test_what_follows_on_the_same_row_has_one_cause() -> None:
    run = Run()
    grant(run, 1, "a")
    back(run, 1, "a")
    back(run, 1, "a")
    grant(run, 1, "b", 2)
    grant(run, 1, "c", 3)
    result = run.check(RULE)
    assert rules_of(result) == {RULE} and len([f for f in result.findings if f.cause is None]) == 1


def test_a_row_that_is_too_narrow_explains_what_is_done_in_it() -> None:
    run = Run(settings={"row_width": 8})
    grant(run, 1, "a")
    run.write(1, 6, list(range(20, 26)))
    run.add("lengths", row=1, epoch=1, request="a", committed=4, allocated=12, cause="spec_prepare")
    result = run.check("LOC-WIDTH", "LEN-ORDER")
    assert rules_of(result) == {"LOC-WIDTH", "LEN-ORDER"}
    assert len([f for f in result.findings if f.cause is None]) == 1


# ---- unknown --------------------------------------------------------------------------------------


def why(run: Run, judged: int = 0) -> str:
    result = run.check(RULE)
    assert not result.findings and result.checked[RULE] == judged
    (unknown,) = result.unknown
    return unknown.why


def late(**columns: Any) -> Run:
    run = Run(**columns)
    back(run, 1, "a", 4)
    return run


def test_rows_held_before_the_recording_began() -> None:
    run = late(from_start=False)
    grant(run, 1, "b", 5)
    assert "held the row before was not recorded" in why(run, judged=2)


def test_a_life_that_was_granted_out_of_sight() -> None:
    run = Run()
    run.add("lengths", row=1, epoch=1, request="a", committed=4, allocated=4, cause="extend")
    back(run, 1, "a")
    assert "was not recorded" in why(run)


def test_a_lost_beginning() -> None:
    run = late()
    run.lines[0]["seq"] = 40
    run.check(RULE)
    assert not run.check(RULE).findings and run.check(RULE).unknown


def test_a_reset_may_have_emptied_the_rows() -> None:
    run = Run()
    grant(run, 1, "a")
    run.cache("reset", None)
    grant(run, 1, "b", 2)
    assert "was not recorded" in why(run, judged=3)


def test_events_lost_in_between() -> None:
    run = Run()
    grant(run, 1, "a")
    grant(run, 1, "b", 2)
    run.lines[0]["seq"], run.lines[1]["seq"] = 0, 2
    assert not run.check(RULE).findings and run.check(RULE).unknown


def test_sessions_that_were_not_recorded() -> None:
    run = Run(tables=["row_alloc", "row_free"])
    grant(run, 1, "a")
    grant(run, 2, "a")
    assert "sessions and resets" in why(run, judged=3)


def test_an_event_without_its_row() -> None:
    run = Run()
    grant(run, 1, "a")
    run.add("row_free", epoch=1, request="a")
    grant(run, 1, "b", 2)
    assert not run.check(RULE).findings and run.check(RULE).unknown


def test_rows_of_requests_without_names() -> None:
    run = Run()
    grant(run, 1, None)
    grant(run, 2, None)
    back(run, 1, None)
    back(run, 2, "b")
    assert "to a request without a name" in why(run, judged=4)


def test_an_event_that_names_no_life() -> None:
    run = Run()
    grant(run, 1, "a")
    told(run, 1, "a", None)
    assert "both row and epoch" in why(run, judged=2)


def test_a_row_that_may_still_come_back() -> None:
    run = Run()
    grant(run, 1, "a")
    run.release(1, 4, 4, request="a")
    assert "ends before the row has to be back" in why(run, judged=2)


def test_another_request_in_a_row_where_sessions_are_not_recorded() -> None:
    run = Run(tables=["row_alloc", "row_free", "lengths"])
    grant(run, 1, "a")
    told(run, 1, "b")
    assert "sessions were not recorded" in why(run, judged=2)


def test_no_row_was_handed_out_at_all() -> None:
    run = Run()
    told(run, 1, "a")
    assert "held the row before was not recorded" in why(run)


def without(*tables: str) -> Run:
    return Run(tables=[table for table in TABLES if table not in tables])


def test_rows_that_were_handed_out_unseen() -> None:
    """Some grants are there, but the recording does not claim to hold them all."""
    run = without("row_alloc")
    told(run, 1, "a")
    grant(run, 2, "b")
    back(run, 2, "b")
    back(run, 2, "c", 2)
    grant(run, 3, "d")
    back(run, 3, "e", 2)
    result = run.check(RULE)
    assert not result.findings
    assert sum(u.instances for u in result.unknown if "row_alloc" in u.why) == 3
    grant(run, 4, "f")
    grant(run, 4, "g", 2)  # nothing that the missing grants could mend
    assert "while request f (epoch 1) holds it" in run.only_finding(RULE).message


@pytest.mark.parametrize("table", ["row_free", "release"])
def test_rows_that_came_back_unseen(table: str) -> None:
    run = without(table)
    grant(run, 4, "x")
    back(run, 4, "x")
    grant(run, 1, "a")
    grant(run, 1, "b", 2)
    grant(run, 2, "b")
    result = run.check(RULE)
    assert not result.findings
    assert sum(u.instances for u in result.unknown if "release was not recorded whole" in u.why) == 2
    told(run, 3, "c")
    assert "names row 3 (epoch 1), which was not handed out" in run.only_finding(RULE).message


def test_a_return_that_names_no_life() -> None:
    """It may be the row's that has to be back; one that is not there at all is a fault."""
    run = Run()
    grant(run, 1, "a")
    run.release(1, 4, 4, request="a")
    run.add("row_free", row=1, request="a")
    run.quiet()
    assert not run.check(RULE).findings
    del run.lines[-2]
    assert run.check(RULE).findings


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("lengths", {"committed": 4, "allocated": 4, "cause": "session_restore"}),
        ("release", {"committed": 4, "allocated": 4, "kind": "finish"}),
    ],
)
def test_what_is_done_for_a_life_whose_row_went_back(table: str, columns: dict[str, Any]) -> None:
    run = Run()
    grant(run, 1, "a")
    back(run, 1, "a")
    run.add(table, **run.who(1, "a", 1), **columns)
    assert f"{table} of request a names row 1 (epoch 1)" in run.only_finding(RULE).message


# ---- row 0 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["sglang", "reference"])
def test_the_row_of_padding_is_handed_out(engine: str) -> None:
    run = Run(engine=engine)
    grant(run, 0, "a")
    back(run, 0, "a")
    finding = run.only_finding(RULE)
    assert (
        finding.message == "row 0 is handed out to request a (epoch 1), it belongs to rows that pad a batch"
    )
    assert finding.actual == "row 0"


def test_the_row_of_padding_is_used_by_a_request() -> None:
    run = Run()
    told(run, 0, "a")
    assert "names row 0 (epoch 1), which belongs to rows that pad a batch" in run.only_finding(RULE).message


def test_a_row_that_pads_is_no_use() -> None:
    run = Run()
    run.add("forward", mode="target_verify", row=0, epoch=0, slots=[0], padded=True)
    run.add("accept", row=0, epoch=0, algorithm="eagle", accept_len=1)
    assert not run.check(RULE).findings


@pytest.mark.parametrize("engine", ["vllm", None])
def test_whether_another_engine_hands_out_row_0_is_not_known(engine: str | None) -> None:
    run = Run(engine=engine)
    grant(run, 0, "a")
    result = run.check(RULE)
    assert not result.findings
    assert "whether the engine hands out row 0, which others keep for padding, is not known" in {
        unknown.why for unknown in result.unknown
    }
