"""LEN-TOKEN: what breaks the law of tokens, and what only looks so."""

from __future__ import annotations

from typing import Any

import pytest

from speckv_debug.model.finding import CheckResult
from tests.ledgers import Run

PROMPT = [11, 12, 13, 14]


class Tokens(Run):
    """A run of one request that only its tokens are told of; its prompt has four, the first token sampled is 21."""

    def __init__(self, **head: Any) -> None:
        super().__init__(**head)
        self.forward("extend", 0, PROMPT, 21)

    def forward(self, mode: str, start: int, tokens: list[int], sampled: int | None, **columns: Any) -> None:
        self.step += 1
        line = {"positions": [start + k for k in range(len(tokens))], "pool": "full"} | columns
        who = self.who(1, None, 1)
        self.add("forward", mode=mode, **who, start=start, tokens=tokens, next_token=sampled, **line)

    def verify(self, seq_len: int, root: int, n: int, bonus: int | None, **columns: Any) -> None:
        self.step += 1
        line = {"algorithm": "eagle", "layout": "chain", "width": 3, "accept_len": n, "seq_len": seq_len}
        line |= {"draft_tokens": [root, 2, 3], "positions": [seq_len, seq_len + 1, seq_len + 2]}
        self.add("accept", **self.who(1, None, 1), bonus_token=bonus, **(line | columns))

    def judged(self) -> CheckResult:
        return self.check("LEN-TOKEN")

    def told(self, cause: str, **columns: Any) -> None:
        self.add("lengths", **self.who(1, None, 1), committed=6, allocated=9, cause=cause, **columns)


def reasons(result: CheckResult) -> dict[str, int]:
    assert not result.findings
    return {unknown.why: unknown.instances for unknown in result.unknown}


def test_each_forward_begins_with_what_was_handed_on() -> None:
    run = Tokens()
    run.verify(4, 21, 2, 31)
    run.forward("decode", 6, [31], 32)
    run.verify(7, 32, 3, 33)
    result = run.judged()
    assert not result.findings and not result.unknown and result.checked["LEN-TOKEN"] == 4


@pytest.mark.parametrize("root", [3, 21, 0])
def test_a_root_that_is_not_the_bonus(root: int) -> None:
    run = Tokens()
    run.verify(4, 21, 2, 31)
    run.verify(6, root, 1, 41)
    (finding,) = run.judged().findings
    assert (finding.step, finding.request) == (run.step, "r1")
    assert (finding.expected, finding.actual) == ("token 31 at position 6", f"token {root}")


def test_the_first_root_is_what_the_prefill_sampled() -> None:
    run = Tokens()
    run.verify(4, 22, 2, 31)
    (finding,) = run.judged().findings
    assert finding.expected == "token 21 at position 4"


def test_a_plain_decode_with_another_token() -> None:
    run = Tokens()
    run.forward("decode", 4, [22], 23)
    (finding,) = run.judged().findings
    assert "begins with token 22" in finding.message


def test_a_placeholder_among_the_input_ids() -> None:
    run = Tokens()
    run.forward("extend", 4, [21, -1, 23], 24)
    (finding,) = run.judged().findings
    assert "input id 1" in finding.message and finding.actual == "-1"


@pytest.mark.parametrize(
    ("positions", "broken"),
    [([4, 5, 5], False), ([4, 5, 6], True), ([4, 6, 6], True), ([4, 6, 5], True), ([5, 6, 6], True)],
)
@pytest.mark.parametrize("linked", [True, False])
def test_positions_of_a_tree_rise_from_each_row_to_its_children(
    positions: list[int], broken: bool, linked: bool
) -> None:
    run = Tokens()
    links = {"next_token": [1, -1, -1], "next_sibling": [-1, 2, -1]} if linked else {}
    run.verify(4, 21, 2, 31, positions=positions, layout="tree", **links)
    assert bool(run.judged().findings) == (broken and (linked or positions[0] != 4))


def test_positions_that_do_not_rise_by_one() -> None:
    run = Tokens()
    run.verify(4, 21, 2, 31, positions=[4, 5, 5])
    (finding,) = run.judged().findings
    assert finding.actual == "positions 4, 5, 5"


def test_siblings_of_a_tree_share_a_position() -> None:
    run = Tokens()
    run.verify(4, 21, 2, 31, positions=[4, 5, 5], layout="tree")
    assert not run.judged().findings


@pytest.mark.parametrize("cause", ["retract", "session_trim", "finish"])
def test_what_was_handed_on_is_forgotten(cause: str) -> None:
    run = Tokens()
    run.verify(4, 21, 2, 31)
    run.told(cause)
    run.verify(6, 99, 1, 41)
    assert sum(reasons(run.judged()).values()) == 1


def test_a_cut_and_a_release_forget_too() -> None:
    run = Tokens()
    run.verify(4, 21, 2, 31)
    run.told("verify_commit", cut="grammar")
    run.verify(6, 99, 1, 41)
    run.add("release", **run.who(1, None, 1), kind="retract")
    run.verify(7, 98, 1, 42)
    assert sum(reasons(run.judged()).values()) == 2


def test_a_prefill_after_a_retract_may_sample_another_token() -> None:
    run = Tokens()
    run.add("release", **run.who(1, None, 1), kind="retract")
    run.forward("extend", 0, PROMPT, 77)
    run.verify(4, 77, 1, 78)
    assert not reasons(run.judged())


def test_a_draft_pool_is_one_token_ahead() -> None:
    run = Tokens()
    run.forward("extend", 4, [99, -1], None, pool="draft")
    run.verify(4, 21, 2, 31)
    assert not reasons(run.judged())


def test_a_host_that_lags_is_not_compared_by_order_alone() -> None:
    run = Tokens()
    run.verify(4, 21, 2, 31)
    run.verify(7, 99, 1, 41)
    assert sum(reasons(run.judged()).values()) == 1


@pytest.mark.parametrize("settings", [{"watermark": True}, {"vocab_map": True}, {"num_non_draft": 2}])
def test_engines_that_rewrite_tokens_or_start_past_the_frontier(settings: dict[str, Any]) -> None:
    run = Tokens(settings={"row_width": 64, **settings})
    run.verify(4, 99, 2, 31)
    assert reasons(run.judged())


def test_a_bonus_that_was_not_recorded() -> None:
    run = Tokens()
    run.verify(4, 21, 2, None)
    run.verify(6, 99, 1, 41)
    assert sum(reasons(run.judged()).values()) == 1
