"""LEN-TOKEN within a step: rows of a verify beside its accept, and what a drafter stores; what only looks wrong."""

from __future__ import annotations

from typing import Any

import pytest

from speckv_debug.model.finding import CheckResult
from tests.ledgers import Run

RULE = "LEN-TOKEN"
PROMPT = [11, 12, 13, 14]
POOLS = [
    {"name": "full", "kind": "full", "slots": 64, "page_size": 1, "reserved_slots": 1},
    {"name": "draft", "kind": "draft", "slots": 64, "page_size": 1, "allocated_by": "full"},
]


class Drafted(Run):
    """A request whose drafter is one token ahead; `settings` are those of the process."""

    def __init__(self, settings: dict[str, Any] | None = None, **head: Any) -> None:
        told = {"draft_token_offset": 1} if settings is None else settings
        super().__init__(pools=POOLS, settings=told, **head)

    def forward_of(self, mode: str, start: int, tokens: list[int], **columns: Any) -> None:
        line = {"mode": mode, "start": start, "tokens": tokens, "padded": False, "pool": "full"}
        line |= {"positions": [start + k for k in range(len(tokens))]}
        self.add("forward", **(self.who(1, None, 1) | line | columns))

    def stored(self, start: int, tokens: list[int], mode: str = "draft_extend", **columns: Any) -> None:
        self.forward_of(mode, start, tokens, **({"pool": "draft"} | columns))

    def prefill(self, tokens: list[int] = PROMPT, start: int = 0, sampled: int | None = 21) -> None:
        self.step += 1
        self.forward_of("extend", start, tokens, next_token=sampled)

    def verify(self, **columns: Any) -> None:
        """Rows 21, 22, 23 and 29 at positions 4 to 6, of which the tree path 21, 23 is accepted with bonus 31."""
        self.step += 1
        line = {"algorithm": "eagle", "layout": "tree", "width": 4, "seq_len": 4, "block_start": 0}
        line |= {"draft_tokens": [21, 22, 23, 29], "accept_index": [0, 2, -1]}
        self.add("accept", **(self.who(1, None, 1) | line | {"accept_len": 2, "bonus_token": 31} | columns))

    def judged(self) -> CheckResult:
        return self.check(RULE)


def clean(run: Run, instances: int) -> bool:
    result = run.check(RULE)
    return not result.findings and not result.unknown and result.checked[RULE] == instances


def reasons(run: Run) -> dict[str, int]:
    result = run.check(RULE)
    assert not result.findings
    return {unknown.why: unknown.instances for unknown in result.unknown}


# ---- rows of a verify -----------------------------------------------------------------------------


def test_a_verify_computes_its_draft_tokens() -> None:
    run = Drafted()
    run.prefill()
    run.verify()
    run.forward_of("target_verify", 4, [21, 22, 23, 29], positions=[4, 5, 5, 6])
    assert clean(run, 3)


TREE = {"next_token": [1, 3, -1, -1], "next_sibling": [-1, 2, -1, -1]}


@pytest.mark.parametrize(
    ("told", "positions", "wrong"),
    [
        ({"positions": [4, 5, 5, 6]}, [4, 5, 5, 6], None),
        ({"positions": [4, 5, 5, 6]}, [4, 5, 6, 6], (2, 6, 5)),
        ({"positions": [4, 5, 5, 6]}, [3, 5, 5, 6], (0, 3, 4)),
        ({"positions": [4, 5, 5, 6]}, [4, 5, 5, 7], (3, 7, 6)),  # a row that is not accepted
        (TREE, [4, 5, 5, 6], None),
        (TREE, [4, 5, 5, 5], (3, 5, 6)),
        ({"layout": "chain", "accept_index": [0, 1, -1]}, [4, 5, 6, 7], None),
        ({"layout": "chain", "accept_index": [0, 1, -1]}, [4, 5, 5, 6], (2, 5, 6)),
        ({}, [4, 9, 9, 9], None),  # where the rows of the tree belong is not told
        ({}, [5, 5, 5, 6], (0, 5, 4)),
        ({"positions": [4, 5, 5, 6]}, [4, 5], None),
    ],
)
def test_positions_of_the_forward(
    told: dict[str, Any], positions: list[int], wrong: tuple[int, int, int] | None
) -> None:
    run = Drafted()
    run.prefill()
    run.verify(**told)
    run.forward_of("target_verify", 4, [21, 22, 23, 29], positions=positions)
    found = [(f.step, f.request, f.expected, f.actual) for f in run.judged().findings]
    row, position, due = wrong or (0, 0, 0)
    broken = (run.step, "r1", f"position {due} of row {row}", f"position {position}")
    assert found == ([broken] if wrong else [])


def test_positions_are_judged_without_tokens_and_the_tokens_are_unknown() -> None:
    run = Drafted()
    run.prefill()
    run.verify(positions=[4, 5, 5, 6])
    run.forward_of("target_verify", 4, [21, 22, 23, 29], positions=[4, 5, 5, 6])
    run.lines[-1]["tokens"] = None
    assert reasons(run) == {"what its rows should hold is not known": 1}
    run.lines[-1]["positions"] = [4, 5, 5, 8]
    assert "computes row 3 at position 8" in run.judged().findings[0].message


@pytest.mark.parametrize("row", [0, 2])
def test_an_accepted_row_that_was_computed_of_another_token(row: int) -> None:
    run = Drafted()
    run.prefill()
    run.verify()
    tokens = [21, 22, 23, 29]
    tokens[row] = 7
    run.forward_of("target_verify", 4, tokens, positions=[4, 5, 5, 6])
    (finding,) = run.judged().findings
    assert (finding.step, finding.request) == (run.step, "r1")
    assert f"computes token 7 at position {4 + (row > 0)}" in finding.message


@pytest.mark.parametrize("tokens", [[21, 7, 23, 7], [21, 7, 23]])
def test_rows_that_were_not_accepted_may_differ(tokens: list[int]) -> None:
    run = Drafted()
    run.prefill()
    run.verify()
    run.forward_of("target_verify", 4, tokens)
    assert not run.judged().findings


def test_an_accepted_row_that_was_not_computed() -> None:
    run = Drafted()
    run.prefill()
    run.verify()
    run.forward_of("target_verify", 4, [21, 22])
    (finding,) = run.judged().findings
    assert finding.message == "the target_verify computes no token at row 2, its draft token there is 23"


def test_a_verify_whose_forward_tells_no_tokens() -> None:
    run = Drafted()
    run.prefill()
    run.verify()
    run.forward_of("target_verify", 4, [21, 22, 23, 29], positions=None)
    run.lines[-1]["tokens"] = None
    assert reasons(run) == {"what its rows should hold is not known": 1}


def two_verifies(*forwards: int, **head: Any) -> Drafted:
    """Two verifies of one request, of which some have their forward."""
    run = Drafted(**head)
    run.prefill()
    for number, (start, tokens) in enumerate(((4, [21, 22, 23, 29]), (6, [31, 32, 33, 34]))):
        run.verify(seq_len=start, draft_tokens=tokens)
        if number in forwards:
            run.forward_of("target_verify", start, tokens)
    return run


@pytest.mark.parametrize(("forwards", "step"), [((0,), 4), ((1,), 3)])
def test_a_verify_without_its_forward(forwards: tuple[int, ...], step: int) -> None:
    (finding,) = two_verifies(*forwards).judged().findings
    assert (finding.step, finding.request) == (step, "r1")
    assert "no forward computed them" in finding.message


@pytest.mark.parametrize("forwards", [(), (0, 1)])
def test_forwards_of_all_verifies_or_of_none(forwards: tuple[int, ...]) -> None:
    assert not two_verifies(*forwards).judged().findings


def test_forwards_that_are_not_recorded_whole() -> None:
    assert not two_verifies(0, tables=["accept", "forward:extend"]).judged().findings


def test_a_forward_that_the_recorder_left_out_may_be_noted_late() -> None:
    run = two_verifies(0)
    for _ in range(2):
        run.step += 1
        run.quiet()
    run.add("drop", table="forward", rows=1, why="queue full")
    assert reasons(run) == {"whether the recording would have the forward of the verify is not known": 1}


# ---- what a drafter stores behind a verify --------------------------------------------------------


def test_a_drafter_is_one_token_ahead() -> None:
    run = Drafted()
    run.prefill()
    run.verify()
    run.stored(4, [23, 31, 0, 0])
    assert clean(run, 3)


@pytest.mark.parametrize(
    ("tokens", "at"), [([22, 31, 0], 4), ([23, 29, 0], 5), ([21, 23, 31], 4), ([0, 0, 0], 4)]
)
def test_a_drafter_stores_another_token(tokens: list[int], at: int) -> None:
    run = Drafted()
    run.prefill()
    run.verify()
    run.stored(4, tokens)
    (finding,) = run.judged().findings
    assert finding.expected == f"token {(23, 31)[at - 4]} at position {at}"
    assert finding.evidence[0].marked == (1,)


def test_the_rows_before_and_behind_what_was_accepted_are_not_looked_at() -> None:
    run = Drafted()
    run.prefill()
    run.verify()
    run.stored(2, [0, 0, 23, 31, -1, 5])
    assert not run.judged().findings


def test_positions_that_are_not_listed_follow_from_the_start() -> None:
    run = Drafted()
    run.prefill()
    run.verify()
    run.stored(4, [23, 30], positions=None)
    assert len(run.judged().findings) == 1


@pytest.mark.parametrize("tokens", [[21, 23, 9], [23, 31, 9]])
def test_a_drafter_that_is_called_level_with_the_target_may_be_ahead(tokens: list[int]) -> None:
    run = Drafted({"draft_token_offset": 0})
    run.prefill()
    run.verify()
    run.stored(4, tokens)
    assert not run.judged().findings
    run.verify(seq_len=6, draft_tokens=[31, 32, 33, 34], accept_index=[0, -1, -1], accept_len=1)
    run.stored(6, [8, 9])
    assert len(run.judged().findings) == 1


def test_a_drafter_of_several_layers_is_further_ahead_each() -> None:
    run = Drafted()
    run.prefill()
    run.verify()
    run.stored(4, [23, 31])
    run.stored(4, [31, 9])
    assert clean(run, 2)


def test_a_simulated_accept_is_not_what_was_put_out() -> None:
    run = Drafted()
    run.prefill()
    run.verify(sampling="simulated")
    run.stored(4, [100, 100])
    assert reasons(run) == {"what its rows should hold is not known": 1}


def test_how_far_a_drafter_is_ahead_is_not_known() -> None:
    run = Drafted({})
    run.prefill()
    run.verify()
    run.stored(4, [7, 7])
    assert reasons(run) == {"what its rows should hold is not known": 1}


def test_engines_that_rewrite_tokens() -> None:
    run = Drafted({"draft_token_offset": 1, "vocab_map": True})
    run.prefill()
    run.verify()
    run.stored(4, [7, 7])
    assert "the engine may rewrite tokens between sampling and output" in reasons(run)


@pytest.mark.parametrize(
    "lacking", [{"accept_index": None}, {"draft_tokens": None, "bonus_token": None}, {"seq_len": None}]
)
def test_what_was_accepted_is_not_known(lacking: dict[str, Any]) -> None:
    run = Drafted()
    run.prefill()
    run.verify(**lacking)
    run.stored(4, [7, 7])
    assert "what its rows should hold is not known" in reasons(run)


def test_candidates_of_a_draft_are_no_instances() -> None:
    run = Drafted()
    run.prefill()
    run.verify()
    run.stored(4, [7, 8], "draft")
    assert clean(run, 2)


# ---- what a drafter stores behind a prefill -------------------------------------------------------


@pytest.mark.parametrize("mode", ["extend", "draft_extend"])
def test_a_prefill_is_stored_one_token_ahead(mode: str) -> None:
    run = Drafted()
    run.prefill()
    run.stored(0, [12, 13, 14, 21], mode)
    assert clean(run, 2)


@pytest.mark.parametrize("row", range(4))
def test_a_prefill_that_is_stored_with_another_token(row: int) -> None:
    run = Drafted()
    run.prefill()
    tokens = [12, 13, 14, 21]
    tokens[row] = 7
    run.stored(0, tokens)
    (finding,) = run.judged().findings
    assert finding.expected == f"token {(12, 13, 14, 21)[row]} at position {row}"


def chunks(tail: int, **head: Any) -> Drafted:
    """A prompt in two chunks; the drafter's first ends with `tail`, the second begins with 14."""
    run = Drafted(**head)
    run.prefill([11, 12, 13], sampled=None)
    run.stored(0, [12, 13, tail])
    run.prefill([14, 15], start=3)
    run.stored(3, [15, 21])
    return run


def test_a_chunk_ends_with_the_prompts_next_token() -> None:
    assert clean(chunks(14), 5)


def test_a_chunk_that_ends_with_another_one() -> None:
    (finding,) = chunks(99).judged().findings
    assert (finding.expected, finding.actual) == ("token 14 at position 2", "token 99")
    assert finding.first_seq == 1


def test_the_end_of_a_chunk_before_sglang_0_5_13() -> None:
    assert not chunks(99, engine_version="0.5.12").judged().findings


def test_the_end_of_a_chunk_whose_next_one_was_lost() -> None:
    run = chunks(99)
    run.lines.insert(2, {"event": "drop", "table": "forward", "rows": 1, "why": "queue full", "step": 2})
    result = run.judged()
    assert not result.findings and any("dropped" in unknown.why for unknown in result.unknown)


def test_a_prompt_that_starts_over_after_a_retract_may_go_on_otherwise() -> None:
    run = Drafted()
    run.prefill([11, 12, 13], sampled=None)
    run.stored(0, [12, 13, 99])
    run.add("release", **run.who(1, None, 1), kind="retract")
    run.step += 1
    run.forward_of("extend", 3, [14, 15], epoch=2, next_token=21)
    assert not run.judged().findings


def test_a_verify_behind_the_chunk_is_no_part_of_the_prompt() -> None:
    run = Drafted()
    run.prefill([11, 12, 13, 14], sampled=None)
    run.stored(0, [12, 13, 14, 99])
    run.verify()
    assert not run.judged().findings


def test_an_engine_that_verifies_from_one_past_the_frontier_is_not_judged() -> None:
    run = Drafted({"draft_token_offset": 1, "num_non_draft": 2})
    run.prefill()
    run.verify()
    run.forward_of("target_verify", 4, [99, 22, 23, 29], slots=[4, 5, 6, 7])
    assert "the engine's algorithm verifies from one past the frontier" in reasons(run)
