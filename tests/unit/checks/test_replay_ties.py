"""Siblings with one token: what follows the accept is replayed from the path that the engine took, if that is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult

Build = Callable[..., Any]
Line = dict[str, Any]
RULES = ("RPL-MOVE", "RPL-COMPACT", "RPL-STATE", "RPL-SHADOW")
STATES = [
    {"name": "full", "kind": "full", "slots": 1000, "page_size": 1, "reserved_slots": 1},
    {"name": "c128_state", "kind": "c128_state", "slots": 64, "page_size": 1, "reserved_slots": 0},
    {"name": "mamba", "kind": "mamba", "slots": 8, "page_size": 1, "reserved_slots": 1},
]
BY_PREDICT: Line = {"target_predict": None}
SAMPLED: Line = BY_PREDICT | {"sampling": "target_only"}


@pytest.fixture
def judge(record: Build, verify: Build) -> Build:
    """Rows R, A, A' and C below A', of which the engine took A'; the kernel takes A."""

    def run(
        source: int = 102, after: tuple[int, ...] = (21, 23, 31), kept: int = 3, **columns: Any
    ) -> CheckResult:
        tree: Line = {
            "draft_tokens": [11, 21, 21, 23],
            "next_token": [1, -1, 3, -1],
            "accept_index": [0, 2, 3],
        }
        chosen: Line = {name: [21, 0, 23, 31] for name in ("predict", "target_predict")}
        who: Line = {"step": 1, "request": "a", "row": 1}
        clear: Line = {"seq_len": 10, "width": 4, "ring_size": 8, "ring_rows": [5], "accept_len": kept}
        lines = (
            verify(**tree | chosen | columns),
            {"event": "move", "step": 1, "pool": "full", "src": [100, source, 103], "tgt": [100, 101, 102]},
            {
                "event": "compact",
                "step": 1,
                "tensor": "predict",
                "before": [21, 0, 23, 31],
                "after": [*after, 0],
            },
            {"event": "state_clear", "pool": "c128_state", **who, **clear},
            {"event": "state_commit", "pool": "mamba", **who, "step_index": kept},
        )
        head = {"pools": STATES, "tables": ["accept", "move", "compact", "state_clear", "state_commit"]}
        return check(record(*lines, head=head), only=RULES)

    return run


@pytest.mark.parametrize("columns", [{}, BY_PREDICT, SAMPLED])
def test_the_other_sibling_is_no_mistake(judge: Build, columns: Line) -> None:
    result = judge(**columns)
    assert not result.findings
    assert dict(result.checked) == {"RPL-MOVE": 1, "RPL-COMPACT": 1, "RPL-STATE": 2, "RPL-SHADOW": 1}


@pytest.mark.parametrize("columns", [{}, BY_PREDICT, SAMPLED])
def test_what_does_not_follow_that_sibling_is_one(judge: Build, columns: Line) -> None:
    found = judge(source=103, after=(21, 31, 23), kept=2, **columns).findings
    assert {finding.rule for finding in found} == set(RULES)


def test_a_path_that_is_wrong_behind_the_sibling_is_not_followed(judge: Build) -> None:
    found = judge(target_predict=[21, 0, 24, 31]).findings
    assert {finding.rule for finding in found} == set(RULES)
