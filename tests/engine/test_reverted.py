"""Historic faults that SGLang brings back by SGLANG_DEBUG_REVERT_PR: found, or seen in what was recorded."""

from __future__ import annotations

import pytest
from running import Run
from scenarios import EAGLE

pytestmark = pytest.mark.full


def tails_of_chunks(run: Run) -> list[tuple[int, int]]:
    """What the draft stored at the end of each chunk that is not the prompt's last, and the prompt's next token."""
    prompts: dict[str, dict[int, int]] = {}
    for e in run.of("forward"):
        if e.mode == "extend" and e.pool == "full":
            prompts.setdefault(e.request, {}).update(zip(e.positions, e.tokens, strict=True))
    last = [
        (e.request, e.positions[-1], e.tokens[-1])
        for e in run.of("forward")
        if e.mode == "extend" and e.pool == "draft"
    ]
    return [
        (token, prompts[request][position + 1])
        for request, position, token in last
        if position + 1 in prompts[request]
    ]


def shifts_of_first_drafts(run: Run) -> set[int]:
    """Position of each round's first draft forward, less the length that its verify starts from."""
    verified = {(e.request, e.step): e.seq_len for e in run.of("accept")}
    first = {}
    for e in run.of("forward"):
        if e.mode == "draft":
            first.setdefault((e.request, e.step), e.positions[0])
    return {position - verified[key] for key, position in first.items() if key in verified}


@pytest.mark.parametrize("scenario", [EAGLE.name])
def test_without_a_fault(run: Run) -> None:
    tails = tails_of_chunks(run)
    assert tails and all(token == due for token, due in tails)
    assert shifts_of_first_drafts(run) == {0}
    assert run.report["verdict"] == "clean"


@pytest.mark.parametrize("scenario", ["reverted-26972"])
def test_a_row_that_is_too_narrow_is_found(run: Run) -> None:
    errors = [f for f in run.report["findings"] if f["severity"] == "error" and f["cause"] is None]
    assert {f["rule"] for f in errors} <= {"LOC-WIDTH", "LEN-ORDER"}
    assert errors[0]["rule"] == "LOC-WIDTH"
    width = run.process.info.settings["row_width"]
    first = next(e for e in run.of("reserve") if e.new_allocated > width)
    assert errors[0]["step"] == first.step


@pytest.mark.parametrize("scenario", ["reverted-26329"])
def test_the_drafts_wrong_token_at_the_end_of_a_chunk_is_found(run: Run) -> None:
    tails = tails_of_chunks(run)
    wrong = [(token, due) for token, due in tails if token != due]
    assert wrong and shifts_of_first_drafts(run) == {0}
    errors = [f for f in run.report["findings"] if f["severity"] == "error"]
    assert {f["rule"] for f in errors} == {"LEN-TOKEN"}
    told = {(f["actual"], f["expected"].partition(" at ")[0]) for f in errors}
    assert told <= {(f"token {token}", f"token {due}") for token, due in wrong}


@pytest.mark.parametrize("scenario", ["reverted-25015"])
def test_draft_positions_that_are_one_too_high_are_found(run: Run) -> None:
    assert shifts_of_first_drafts(run) == {1}
    errors = [f for f in run.report["findings"] if f["severity"] == "error"]
    assert {f["rule"] for f in errors} == {"LEN-READ"}
    assert all(token == due for token, due in tails_of_chunks(run))
