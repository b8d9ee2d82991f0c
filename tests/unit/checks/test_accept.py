"""ACC: each half of the laws, and what looks like a breach and is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult

ACC = ("ACC-COUNT", "ACC-BLOCK", "ACC-CHAIN", "ACC-SHIFT")
Build = Callable[..., Any]
CHAIN: dict[str, Any] = {
    "layout": "chain",
    "draft_tokens": [11, 21, 22, 23],
    "predict": [21, 22, 9, 0],
    "accept_index": [0, 1, 2],
    "next_token": None,
    "next_sibling": None,
    "bonus_token": 9,
}


@pytest.fixture
def judge(record: Build, verify: Build) -> Build:
    def run(*verifies: dict[str, Any], **settings: Any) -> CheckResult:
        head = {"settings": {"algorithm": "EAGLE", **settings}}
        lines = [verify(**columns) for columns in verifies or ({},)]
        return check(record(*lines, head=head), only=ACC)

    return run


def broken(result: CheckResult) -> list[str]:
    return [finding.rule for finding in result.findings]


def unknown(result: CheckResult) -> set[str]:
    return {each.rule for each in result.unknown if each.instances}


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        ({"accept_len": 2, "num_correct_drafts": 1}, "ACC-COUNT"),
        ({"num_correct_drafts": 3}, "ACC-COUNT"),
        ({"accept_index": [0, -1, 3]}, "ACC-COUNT"),
        ({"accept_index": [-1, -1, -1], "accept_len": 0, "num_correct_drafts": -1}, "ACC-COUNT"),
        ({"accept_index": [1, 3, -1], "accept_len": 2, "num_correct_drafts": 1}, "ACC-BLOCK"),
        ({"accept_index": [0, 1, 1]}, "ACC-BLOCK"),
        ({"accept_index": [0, 1, 4]}, "ACC-BLOCK"),
        ({"accept_index": [0, 2, 3], "predict": [22, 0, 23, 31]}, "ACC-CHAIN"),
        ({"target_predict": [22, 23, 0, 31]}, "ACC-CHAIN"),
        (CHAIN | {"accept_index": [0, 2, 3], "predict": [22, 0, 23, 9]}, "ACC-CHAIN"),
        ({"bonus_token": 23}, "ACC-SHIFT"),
        ({"predict": [21, 99, 0, 31], "target_predict": [21, 23, 0, 31]}, "ACC-SHIFT"),
        ({"predict": [5, 5, 0, 31], "sampling": "rejection"}, "ACC-SHIFT"),
    ],
)
def test_the_first_finding_is_the_law_that_was_broken(
    judge: Build, columns: dict[str, Any], rule: str
) -> None:
    assert broken(judge(columns))[:1] == [rule]


@pytest.mark.parametrize(
    "columns",
    [
        {"accept_index": [0, 1, 3, -1, -1, -1]},  # a buffer wider than the path
        {"num_correct_drafts": None},
        {"target_predict": [99, 99, 0, 31], "sampling": "rejection"},
        {"target_predict": [99, 99, 0, 31], "sampling": "target_only"},
        {"sampling": "simulated", "accept_index": [0, 1, 2], "predict": [100] * 4, "bonus_token": 100},
        {"request": None, "row": 0, "accept_index": [9, 9, 9], "accept_len": 1, "bonus_token": 7},
        {
            "draft_tokens": [11, 21, 21, 23],
            "accept_index": [0, 2, -1],
            "accept_len": 2,
            "num_correct_drafts": 1,
        }
        | {"predict": [21, 0, 5, 0], "bonus_token": 5},  # a sibling with the same token
        CHAIN,
    ],
)
def test_legitimate_patterns(judge: Build, columns: dict[str, Any]) -> None:
    result = judge(columns)
    assert not broken(result)
    assert not unknown(result)


def test_rows_of_the_block_instead_of_the_batch(judge: Build) -> None:
    second = {"request": "b", "row": 2, "batch_index": 1, "block_start": 4, "accept_index": [0, 1, 3]}
    assert not broken(judge({}, second, accept_index_rows="local"))
    assert set(broken(judge({}, second))) == {"ACC-BLOCK"}


SECOND = {"request": "b", "row": 2, "batch_index": 1, "block_start": 4, "accept_index": [4, 5, 7]}


@pytest.mark.parametrize(
    ("columns", "settings"),
    [
        ({"block_start": 0, "accept_index": [0, 1, 3]}, {}),
        ({"block_start": 3, "accept_index": [3, 4, 6]}, {}),
        ({"block_start": 5, "accept_index": [5, 6, 8]}, {"num_draft_tokens": 4}),
    ],
)
def test_blocks_of_a_step_lie_one_behind_the_other(
    judge: Build, columns: dict[str, Any], settings: dict[str, Any]
) -> None:
    (finding,) = judge({}, SECOND | columns, **settings).findings
    assert (finding.rule, finding.request) == ("ACC-BLOCK", "b")
    assert "the rows before it end at 4" in finding.message
    assert not broken(judge({}, SECOND, **settings))
    assert not broken(judge({}, SECOND | columns | {"step": 2, "batch_index": 2}, **settings))


def test_the_first_block_begins_at_the_first_row(judge: Build) -> None:
    moved = {"block_start": 4, "accept_index": [4, 5, 7]}
    assert broken(judge(moved, num_draft_tokens=4)) == ["ACC-BLOCK"]
    assert not broken(judge(moved | {"batch_index": 1}, num_draft_tokens=4))


def test_a_ragged_batch_may_leave_rows_out(judge: Build) -> None:
    gap = SECOND | {"block_start": 8, "accept_index": [8, 9, 11]}
    assert not broken(judge({}, gap, num_draft_tokens=8))
    assert not broken(judge(SECOND, {}, num_draft_tokens=4))


def test_two_non_draft_tokens(judge: Build) -> None:
    assert not broken(judge({"num_correct_drafts": 1}, num_non_draft=2))
    assert broken(judge({"num_correct_drafts": 2}, num_non_draft=2)) == ["ACC-COUNT"]


def test_ragged_widths(judge: Build) -> None:
    narrow = {
        "width": 2,
        "draft_tokens": [11, 21],
        "predict": [21, 5],
        "accept_index": [0, 1, -1],
        "accept_len": 2,
    }
    narrow |= {"num_correct_drafts": 1, "next_token": [1, -1], "next_sibling": [-1, -1], "bonus_token": 5}
    narrow |= {"out_cache_loc": None, "table_slots": None, "positions": None}
    wide = {"request": "b", "row": 2, "batch_index": 1, "block_start": 2, "accept_index": [2, 3, 5]}
    assert not broken(judge(narrow, wide))
    assert broken(judge(narrow | {"accept_len": 3, "num_correct_drafts": 2, "accept_index": [0, 1, 2]}, wide))


def test_a_chain_engine_that_gives_lengths_only(judge: Build) -> None:
    lengths = CHAIN | {"accept_index": None}
    result = judge(lengths | {"target_predict": None})
    assert not broken(result)
    assert unknown(result) == {"ACC-BLOCK", "ACC-CHAIN"}
    assert broken(judge(lengths | {"num_correct_drafts": 1})) == ["ACC-COUNT"]
    assert not broken(judge(lengths | {"accept_len": 0, "num_correct_drafts": 0}))


def test_of_a_chain_with_lengths_only_the_tokens_are_judged(judge: Build) -> None:
    lengths = CHAIN | {"accept_index": None, "sampling": "greedy", "target_predict": [21, 22, 9, 0]}
    result = judge(lengths)
    assert not broken(result)
    assert unknown(result) == {"ACC-BLOCK"}
    assert broken(judge(lengths | {"target_predict": [99, 22, 9, 0]})) == ["ACC-CHAIN"]
    assert unknown(judge(lengths | {"sampling": "rejection"})) == {"ACC-BLOCK", "ACC-CHAIN"}


def test_rewritten_tokens_are_no_shift(judge: Build) -> None:
    columns = {"predict": [21, 99, 0, 31], "target_predict": [21, 23, 0, 31]}
    assert broken(judge(columns)) == ["ACC-SHIFT"]
    assert not broken(judge(columns, watermark=True))


@pytest.mark.parametrize(
    ("missing", "rules"),
    [
        ("accept_len", {"ACC-COUNT"}),
        ("accept_index", {"ACC-COUNT", "ACC-BLOCK", "ACC-CHAIN", "ACC-SHIFT"}),
        ("block_start", {"ACC-BLOCK", "ACC-CHAIN", "ACC-SHIFT"}),
        ("next_token", {"ACC-CHAIN"}),
        ("predict", {"ACC-CHAIN", "ACC-SHIFT"}),
        ("draft_tokens", {"ACC-CHAIN", "ACC-SHIFT"}),
    ],
)
def test_what_is_missing_is_unknown(judge: Build, missing: str, rules: set[str]) -> None:
    result = judge({missing: None})
    assert not broken(result)
    assert unknown(result) == rules


@pytest.mark.parametrize(
    ("columns", "rules"),
    [
        ({"predict": None, "sampling": "rejection"}, {"ACC-SHIFT"}),
        ({"predict": None, "target_predict": [21, 23, 0, 31]}, {"ACC-SHIFT"}),
    ],
)
def test_tokens_that_are_not_told_are_unknown(judge: Build, columns: dict[str, Any], rules: set[str]) -> None:
    result = judge(columns)
    assert not broken(result)
    assert unknown(result) == rules


def test_a_wrong_count_names_the_requests_behind_it(judge: Build) -> None:
    second = {"request": "b", "row": 2, "batch_index": 1, "block_start": 4, "accept_index": [4, 5, 7]}
    finding = judge({"accept_len": 2, "num_correct_drafts": 1}, second).findings[0]
    assert (finding.rule, finding.request) == ("ACC-COUNT", "a")
    assert "(b)" in finding.message
    assert [table.title for table in finding.evidence] == ["draft tree", "accept_index"]


def test_a_damaged_length_is_explained_without_its_size(judge: Build) -> None:
    finding = judge({"accept_len": 2**31 - 1}).findings[0]
    assert finding.rule == "ACC-COUNT"
    assert "2147483647" in finding.message


def test_a_bonus_that_is_not_told_leaves_the_shift_unknown(judge: Build) -> None:
    result = judge({"bonus_token": None})
    assert not result.findings
    assert [(u.rule, u.why, u.instances) for u in result.unknown] == [("ACC-SHIFT", "no bonus_token", 1)]
    assert broken(judge({"bonus_token": None, "sampling": "rejection", "predict": [5, 5, 0, 31]})) == [
        "ACC-SHIFT"
    ]
