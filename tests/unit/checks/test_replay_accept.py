"""RPL-ACCEPT, RPL-BONUS, RPL-LEN: each value that is compared, and what looks like a mismatch and is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult, Finding
from speckv_debug.replay.ragged import NULL
from tests.ledgers import Run

ACCEPT, BONUS, LENGTH = RULES = ("RPL-ACCEPT", "RPL-BONUS", "RPL-LEN")
Build = Callable[..., Any]
Line = dict[str, Any]
TARGET: Line = {"target_predict": [21, 23, 5, 31]}
SHORT: Line = {"accept_index": [0, 1, -1], "accept_len": 2, "num_correct_drafts": 1, "new_seq_len": 12}
UNLINKED: Line = {"next_token": None, "next_sibling": None}
CHAIN: Line = UNLINKED | {
    "layout": "chain",
    "draft_tokens": [11, 21, 22, 23],
    "target_predict": [21, 22, 9, 0],
    "predict": [21, 22, 9, 0],
    "accept_index": [0, 1, 2],
    "bonus_token": 9,
}
LENGTHS_ONLY: Line = CHAIN | {"accept_index": None}
SAMPLED: Line = {"sampling": "rejection", "target_predict": None}
SIMULATED: Line = {
    "sampling": "simulated",
    "accept_index": [0, 1, 2],
    "predict": [100] * 4,
    "bonus_token": 100,
}
TIE: Line = {"draft_tokens": [11, 21, 21, 23], "accept_index": [0, 2, -1], "accept_len": 2}
TIE |= {"num_correct_drafts": 1, "target_predict": [21, 23, 5, 31], "predict": [21, 0, 5, 0]}
TIE |= {"bonus_token": 5, "new_seq_len": 12}
LONG_TIE: Line = {"draft_tokens": [11, 21, 21, 23], "next_token": [1, -1, 3, -1], "accept_index": [0, 2, 3]}
LONG_TIE |= {"target_predict": [21, 0, 23, 31], "predict": [21, 0, 23, 31]}
PADDING: Line = {"request": None, "row": 0, "accept_index": [9, 9, 9], "accept_len": 1, "bonus_token": 7}


@pytest.fixture
def judge(record: Build, verify: Build) -> Build:
    def run(*verifies: Line, **settings: Any) -> CheckResult:
        head = {"settings": {"algorithm": "EAGLE", **settings}}
        return check(record(*(verify(**columns) for columns in verifies), head=head), only=RULES)

    return run


def broken(result: CheckResult) -> set[str]:
    return {finding.rule for finding in result.findings}


def unknown(result: CheckResult) -> set[str]:
    return {each.rule for each in result.unknown if each.instances}


def first(result: CheckResult) -> Finding:
    return result.findings[0]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (TARGET | SHORT, "the paths part at k = 2: the engine stops there, replay accepts C 23"),
        (SHORT, "the paths part at k = 2: the engine stops there, replay accepts C 23"),
        (
            TARGET | {"accept_index": [0, 2, 3]},
            "the paths part at k = 1: the engine accepted B 22, replay A 21",
        ),
        (TARGET | {"accept_index": [0, 1, 9]}, "the engine accepted row 9 outside its block, replay C 23"),
        (
            TARGET | {"accept_index": [0, 1]},
            "the paths part at k = 2: the engine stops there, replay accepts C 23",
        ),
        (TARGET | {"accept_index": [0, 1, 3, 2]}, "at k = 3: the engine accepted B 22, replay stops there"),
        (TARGET | {"accept_len": 2}, "the engine reports accept_len 2, replay 3"),
        (TARGET | {"accept_index": None, "accept_len": 4}, "the engine reports accept_len 4, replay 3"),
        (TARGET | {"num_correct_drafts": 3}, "the engine reports num_correct_drafts 3, replay 2"),
        (
            TARGET | {"predict": [21, 24, 0, 31]},
            "behind accepted row A 21 the engine predicts 24, the target chose 23",
        ),
        (
            CHAIN | {"accept_index": [0, 1, -1], "accept_len": 2},
            "the engine stops there, replay accepts B 22",
        ),
        (LENGTHS_ONLY | {"accept_len": 2}, "the engine reports accept_len 2, replay 3"),
        (
            SAMPLED | {"predict": [22, 23, 0, 31]},
            "the paths part at k = 1: the engine accepted A 21, replay B 22",
        ),
        (SAMPLED | {"num_correct_drafts": 3}, "the engine reports num_correct_drafts 3, replay 2"),
        (LONG_TIE | {"num_correct_drafts": 3}, "the engine reports num_correct_drafts 3, replay 2"),
        (
            LONG_TIE | SHORT | {"accept_index": [0, 2, -1]},
            "the paths part at k = 2: the engine stops there, replay accepts C 23",
        ),
        (
            LONG_TIE | SAMPLED | {"predict": [21, 0, 24, 31]},
            "the paths part at k = 2: the engine accepted C 23, replay stops there",
        ),
        (SIMULATED | {"accept_index": [0, 1, 3]}, "the engine accepted C 23, replay B 22"),
    ],
)
def test_what_differs_is_named(judge: Build, columns: Line, said: str) -> None:
    finding = first(judge(columns))
    assert finding.rule == ACCEPT
    assert said in finding.message and "(kernels.accept." in finding.message
    assert finding.expected and finding.actual and finding.expected != finding.actual


def test_the_tree_tells_what_replay_accepts_from_what_the_engine_did(judge: Build) -> None:
    tree = first(judge(SHORT)).evidence[0]
    assert tree.columns == ("tree as replay accepts it", "row", "replay", "engine")
    (apart,) = tree.marked
    assert tree.rows[apart][1:] == (3, "accepted", "rejected")


@pytest.mark.parametrize(
    "columns",
    [
        TARGET,
        {},
        {"accept_index": [0, 1, 3, -1, -1, -1]},
        TARGET | {"num_correct_drafts": None},
        TARGET | {"accept_len": None},
        TARGET | {"predict": [21, 23, 99, 31]},  # a row that was not accepted
        TARGET | {"predict": None},
        CHAIN,
        CHAIN | {"target_predict": None},
        LENGTHS_ONLY,
        LENGTHS_ONLY | {"accept_len": 0, "num_correct_drafts": 0, "new_seq_len": 10, "bonus_token": None},
        CHAIN | {"next_token": [1, 2, 3, -1], "next_sibling": [-1] * 4},
        PADDING,
        PADDING | TARGET,
    ],
)
def test_legitimate_patterns(judge: Build, columns: Line) -> None:
    result = judge(columns)
    assert not broken(result) and not unknown(result)


@pytest.mark.parametrize(
    ("columns", "engine", "open_"),
    [
        (SAMPLED, {}, {ACCEPT}),
        (SAMPLED | {"sampling": "target_only"}, {}, {ACCEPT}),
        (SAMPLED | {"predict": None}, {}, {ACCEPT, BONUS}),
        (
            SAMPLED | CHAIN | {"sampling": "rejection", "accept_len": None, "accept_index": None},
            {},
            set(RULES),
        ),
        (SIMULATED, {}, {BONUS}),
        (TIE, {}, set(RULES)),
        (LONG_TIE, {}, set(RULES)),
        (LONG_TIE | {"target_predict": None}, {}, set(RULES)),
        (LONG_TIE | SAMPLED, {}, {ACCEPT}),
        (LONG_TIE | SAMPLED | {"sampling": "target_only"}, {}, {ACCEPT}),
        (TIE | {"target_predict": None}, {}, set(RULES)),
        (TARGET, {"watermark": True}, set(RULES)),
        ({"num_correct_drafts": 1}, {"num_non_draft": 2}, set(RULES)),
        (TARGET | UNLINKED, {}, set(RULES)),
        ({"predict": None}, {}, set(RULES)),
        (TARGET | {"block_start": None}, {}, {ACCEPT}),
        (TARGET | {"accept_index": None, "accept_len": None, "num_correct_drafts": None}, {}, {ACCEPT}),
        (TARGET | {"bonus_token": None}, {}, {BONUS}),
        (TARGET | {"new_seq_len": None}, {}, {LENGTH}),
        (TARGET | {"seq_len": None}, {}, {LENGTH}),
        (TARGET | {"algorithm": "uno"}, {}, {LENGTH}),
    ],
)
def test_what_can_not_be_recomputed_is_unknown(
    judge: Build, columns: Line, engine: dict[str, Any], open_: set[str]
) -> None:
    result = judge(columns, **engine)
    assert not broken(result)
    assert unknown(result) == open_


@pytest.mark.parametrize("damaged", [10**30, -1, 1 << 40, "1", True])
def test_a_number_of_other_rows_that_is_none(record: Build, verify: Build, damaged: Any) -> None:
    recording = record(verify(**TARGET), verify(**SIMULATED), head={"settings": {"num_non_draft": damaged}})
    rules = ("ACC-COUNT", *RULES)
    result = check(recording, only=rules, on_error=lambda rule, error: pytest.fail(f"{rule}: {error!r}"))
    assert not broken(result) and unknown(result) == set(rules)
    assert "settings.num_non_draft is no number of rows" in {each.why for each in result.unknown}


@pytest.mark.parametrize("columns", [TARGET, {}, SAMPLED, CHAIN])
def test_a_bonus_that_is_not_the_last_token(judge: Build, columns: Line) -> None:
    (finding,) = judge(columns | {"bonus_token": 23}).findings
    assert finding.rule == BONUS
    due = 9 if columns is CHAIN else 31
    assert f"the bonus handed on is 23, replay reads {due} behind" in finding.message
    assert "kernels.locate.bonus_tokens" in finding.message


@pytest.mark.parametrize("columns", [TARGET, {}, SAMPLED, SIMULATED, CHAIN])
def test_a_length_that_does_not_follow(judge: Build, columns: Line) -> None:
    (finding,) = judge(columns | {"new_seq_len": 12}).findings
    assert finding.rule == LENGTH
    assert finding.message == "the new length is 12, replay makes it 13 (kernels.locate.new_lengths)"
    assert finding.expected == "new_seq_len 13 = seq_len 10 + 3 accepted rows"


def test_a_wrong_path_is_the_cause_of_a_wrong_bonus_and_length(judge: Build) -> None:
    result = judge(TARGET | SHORT | {"bonus_token": 23})
    assert [(f.rule, f.cause) for f in result.findings] == [(ACCEPT, None), (BONUS, 0), (LENGTH, 0)]


def test_where_predictions_are_undefined_nothing_more_is_said(judge: Build) -> None:
    result = judge(SHORT | {"bonus_token": 23})
    assert broken(result) == {ACCEPT} and unknown(result) == {BONUS, LENGTH}


def test_rows_local_to_the_block(judge: Build) -> None:
    second = TARGET | {"request": "b", "row": 2, "batch_index": 1, "block_start": 4}
    assert not broken(judge(TARGET, second, accept_index_rows="local"))
    assert broken(judge(TARGET, second)) == {ACCEPT}


def test_verifies_of_several_shapes_and_modes_at_once(judge: Build) -> None:
    mixed = [TARGET, {}, CHAIN, LENGTHS_ONLY, SAMPLED, SIMULATED, PADDING, TARGET | {"bonus_token": 4}]
    result = judge(*(line | {"step": step} for step, line in enumerate(mixed * 3)))
    assert [(f.rule, f.step, f.repeats) for f in result.findings] == [(BONUS, 7, 2)]


@pytest.mark.gpu
def test_the_gpu_says_the_same(record: Build, verify: Build) -> None:
    mixed = [TARGET, {}, CHAIN, LENGTHS_ONLY, SAMPLED, SIMULATED, PADDING, TIE, TARGET | {"bonus_token": 4}]
    recording = record(*(verify(**line | {"step": step}) for step, line in enumerate(mixed * 3)))
    assert check(recording, device="cuda") == check(recording)


@pytest.mark.parametrize(
    ("columns", "open_"),
    [
        (TARGET | {"predict": [21, None, 0, 31]}, set()),
        (TARGET | {"accept_index": [0, None, 3]}, set()),  # as without one: its length is compared
        ({"predict": [21, None, 0, 31]}, set(RULES)),
        (TARGET | {"draft_tokens": [11, 21, None, 23]}, set(RULES)),
        (TARGET | {"next_sibling": [-1, None, -1, -1]}, set(RULES)),
        (CHAIN | {"target_predict": [21, None, 9, 0], "predict": None}, set(RULES)),
        (SAMPLED | {"predict": [21, 23, 0, None]}, {ACCEPT, BONUS}),
    ],
)
def test_a_value_missing_inside_a_list_is_unknown(verify: Build, columns: Line, open_: set[str]) -> None:
    """Such as a file of another writer may have; a line can't."""
    run = Run(tables=["accept"])
    run.lines.append(verify(**columns))
    result = run.check(*RULES)
    assert not broken(result) and unknown(result) == open_


def test_a_value_missing_inside_a_list_is_not_shown(verify: Build) -> None:
    run = Run(tables=["accept"])
    run.lines.append(verify(**TARGET | {"accept_index": [0, None, 3], "num_correct_drafts": 3}))
    (finding,) = run.check(ACCEPT).findings
    assert "rows not recorded" in finding.actual and str(NULL) not in repr(finding)
