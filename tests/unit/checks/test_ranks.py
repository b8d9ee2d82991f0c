"""ACC-RANK: ranks that decide differently, and ranks that differ by design."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.model.finding import CheckResult
from speckv_debug.model.process import Rank
from tests.unit.conftest import PROCESS

Line = dict[str, Any]
Judge = Callable[..., CheckResult]
NO_LISTS: Line = dict.fromkeys(
    ("draft_tokens", "predict", "next_token", "next_sibling", "out_cache_loc", "table_slots", "positions")
)


def rank(tp: int | None, *, pp: int = 0, dp: int = 0, **settings: Any) -> Line:
    """The line that begins the stream of one rank."""
    said = PROCESS["settings"] | {"tp_size": 2} | settings
    return PROCESS | {"rank": {"tp": tp, "pp": pp, "dp": dp}, "settings": said}


def judged(judge: Judge, *lines: Line, first: Line | None = None) -> CheckResult:
    return judge("ACC-RANK", *lines, **(first or rank(0)))


def reasons(result: CheckResult) -> dict[str, int]:
    assert not result.findings
    return {unknown.why: unknown.instances for unknown in result.unknown}


def test_ranks_that_agree(judge: Judge, verify: Callable[..., Line]) -> None:
    result = judged(judge, verify(), rank(1), verify())
    assert reasons(result) == {} and result.checked["ACC-RANK"] == 1


@pytest.mark.parametrize(
    ("columns", "part"),
    [
        ({"accept_index": [0, 1, -1], "accept_len": 2, "num_correct_drafts": 1}, "accept_len"),
        ({"accept_index": [0, 2, 3]}, "accepted rows"),
        ({"predict": [21, 23, 0, 32]}, "tokens"),
        ({"predict": [22, 23, 0, 31]}, "tokens"),
        ({"width": 5} | NO_LISTS, "width"),
        ({"layout": "chain"}, "layout"),
    ],
)
def test_ranks_that_differ(columns: Line, part: str, judge: Judge, verify: Callable[..., Line]) -> None:
    (finding,) = judged(judge, verify(), rank(1), verify(**columns)).findings
    assert part in finding.message and finding.process.startswith("tp1")
    assert finding.ranks == (Rank(tp=0, pp=0, dp=0), Rank(tp=1, pp=0, dp=0))
    assert [line[0] for line in finding.evidence[0].rows] == ["tp0-pp0-dp0", "tp1-pp0-dp0"]
    assert finding.evidence[0].marked == (1,)


def test_predictions_that_nobody_takes_may_differ(judge: Judge, verify: Callable[..., Line]) -> None:
    result = judged(judge, verify(), rank(1), verify(predict=[21, 23, 99, 31]))
    assert reasons(result) == {} and result.checked["ACC-RANK"] == 1


def test_replicas_serve_their_own_requests(judge: Judge, verify: Callable[..., Line]) -> None:
    replica = rank(0, dp=1, tp_size=1, dp_size=2)
    other = verify(accept_index=[0, 1, -1], accept_len=2)
    result = judged(judge, verify(), replica, other, first=rank(0, tp_size=1, dp_size=2))
    assert reasons(result) == {} and result.checked["ACC-RANK"] == 0


def test_stages_agree_in_length_alone(judge: Judge, verify: Callable[..., Line]) -> None:
    stage = rank(0, pp=1, tp_size=1)
    same = judged(judge, verify(), stage, verify(predict=[1, 2, 3, 4]), first=rank(0, tp_size=1))
    assert reasons(same) == {} and same.checked["ACC-RANK"] == 1
    other = verify(accept_index=[0, 1, -1], accept_len=2)
    (finding,) = judged(judge, verify(), stage, other, first=rank(0, tp_size=1)).findings
    assert "accept_len" in finding.message


def test_rows_of_another_place_in_the_batch_are_the_same_rows(
    judge: Judge, verify: Callable[..., Line]
) -> None:
    moved = verify(block_start=4, batch_index=1, accept_index=[4, 5, 7])
    assert reasons(judged(judge, verify(), rank(1), moved)) == {}


def test_a_rank_that_was_not_recorded(judge: Judge, verify: Callable[..., Line]) -> None:
    assert reasons(judged(judge, verify())) == {"1 more TP rank of the group was not recorded": 1}
    shared = rank(0, tp_size=2, dp_size=2)
    assert reasons(judged(judge, verify(), first=shared)) == {}, "DP attention may leave groups of one rank"


def test_verifies_of_one_rank_alone(judge: Judge, verify: Callable[..., Line]) -> None:
    result = judged(judge, verify(), rank(1), verify(step=2), verify(step=1, request="b"))
    assert reasons(result) == {
        "this rank recorded no such verify of the request in this step": 1,
        "the other rank recorded no such verify of the request in this step": 2,
    }


def test_verifies_that_this_rank_lacks_are_counted(judge: Judge, verify: Callable[..., Line]) -> None:
    result = judged(judge, verify(), verify(step=2, seq_len=13), rank(1), verify())
    assert reasons(result) == {"this rank recorded no such verify of the request in this step": 1}
    assert result.checked["ACC-RANK"] == 1
    none = judged(judge, verify(), rank(1), {"event": "note", "level": "info", "text": "x"})
    assert reasons(none) == {"this rank recorded no such verify of the request in this step": 1}


@pytest.mark.parametrize(("missing", "part"), [("accept_index", "rows"), ("predict", "tokens")])
def test_a_rank_that_does_not_tell(
    missing: str, part: str, judge: Judge, verify: Callable[..., Line]
) -> None:
    for mine, theirs in (({missing: None}, {}), ({}, {missing: None})):
        result = judged(judge, verify(**mine), rank(1), verify(**theirs))
        assert reasons(result) == {f"one rank does not tell its {part}": 1}
    other = verify(**{missing: None}, accept_len=2)
    (finding,) = judged(judge, verify(), rank(1), other).findings
    assert "accept_len" in finding.message


def test_a_verify_recorded_twice_names_no_other(judge: Judge, verify: Callable[..., Line]) -> None:
    result = judged(judge, verify(), verify(accept_index=[0, 2, 3]), rank(1), verify())
    assert reasons(result) == {"the other rank recorded no such verify of the request in this step": 1}


def test_what_follows_a_difference_is_left_unknown(judge: Judge, verify: Callable[..., Line]) -> None:
    shorter = verify(accept_index=[0, 1, -1], accept_len=2)
    mine = (verify(), verify(step=2, seq_len=13))
    theirs = (shorter, verify(step=2, seq_len=12, accept_index=[0, -1, -1], accept_len=1))
    result = judged(judge, *mine, rank(1), *theirs)
    assert [finding.step for finding in result.findings] == [1]
    assert [u.why for u in result.unknown] == [
        "the ranks' verifies of this step start from different lengths"
    ]


def test_without_a_length_nothing_is_said(judge: Judge, verify: Callable[..., Line]) -> None:
    result = judged(judge, verify(), rank(1), verify(accept_len=None, accept_index=None))
    assert reasons(result) == {"no accept_len on one of the ranks": 1}


def test_lengths_of_a_chain_engine_are_compared(judge: Judge, verify: Callable[..., Line]) -> None:
    bare = {"layout": "chain", "accept_index": None, "predict": None}
    (finding,) = judged(judge, verify(**bare), rank(1), verify(**bare, accept_len=2)).findings
    assert "accept_len" in finding.message


def test_two_engines_in_one_recording(judge: Judge, verify: Callable[..., Line]) -> None:
    result = judged(judge, verify(), rank(0), verify(), rank(1), verify())
    assert reasons(result) == {"several processes call themselves the same rank": 1}
