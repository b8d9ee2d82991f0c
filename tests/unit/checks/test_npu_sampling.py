"""What `sgl_kernel_npu`'s tree and chain samplers return (`predict`, `accept_index`, `accept_token_num`) is judged as any other's.

The samplers count drafts, SGLang adds the root; the three are broadcast over tensor-parallel ranks before anyone reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult, Severity
from tests.unit.conftest import PROCESS

Line = dict[str, Any]
Build = Callable[..., Any]
NPU: Line = {"device": "npu", "tp_size": 2}
CHAIN: Line = {
    "layout": "chain",
    "topk": 1,
    "sampling": "rejection",
    "next_token": [1, 2, 3, -1],
    "next_sibling": [-1, -1, -1, -1],
    "predict": [21, 22, 31, 0],
    "accept_index": [0, 1, 2, -1],
}
TREE: Line = {"topk": 2, "sampling": "target_only"}


def rank(tp: int) -> Line:
    """The stream of one rank on an NPU."""
    return PROCESS | {"rank": {"tp": tp, "pp": 0, "dp": 0}, "settings": PROCESS["settings"] | NPU}


def accepts(record: Build, *lines: Line) -> CheckResult:
    """What the rules of the accept result say; `lines` of the second rank follow its own process line."""
    rules = ["ACC-COUNT", "ACC-BLOCK", "ACC-CHAIN", "ACC-SHIFT", "ACC-RANK"]
    return check(record(*lines, head=rank(0)), only=rules)


@pytest.mark.parametrize("sampled", [TREE, CHAIN], ids=["tree", "chain"])
def test_a_sound_result_keeps_all_laws(record: Build, verify: Build, sampled: Line) -> None:
    result = accepts(record, verify(**sampled), rank(1), verify(**sampled))
    assert [f for f in result.findings if f.severity is not Severity.NOTE] == []
    assert all(result.checked[rule] for rule in ("ACC-COUNT", "ACC-BLOCK", "ACC-SHIFT", "ACC-RANK"))


@pytest.mark.parametrize("sampled", [TREE, CHAIN], ids=["tree", "chain"])
@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        # accept_token_num taken for accept_len: the root is not counted
        ({"accept_len": 2, "num_correct_drafts": 2}, "ACC-COUNT"),
        # accept_token_num counts the root too, and one is added all the same
        ({"accept_len": 4, "num_correct_drafts": 3}, "ACC-COUNT"),
        # a row of another request's block
        ({"accept_index": [0, 1, 7, -1]}, "ACC-BLOCK"),
        # the terminal token was written to the row before the last accepted one
        ({"predict": [21, 31, 0, 0], "bonus_token": 31}, "ACC-SHIFT"),
    ],
)
def test_a_broken_contract_is_found(
    record: Build, verify: Build, sampled: Line, wrong: Line, rule: str
) -> None:
    broken = verify(**sampled | wrong)
    found = {f.rule for f in accepts(record, broken, rank(1), broken).findings}
    assert rule in found and "ACC-RANK" not in found


@pytest.mark.parametrize("sampled", [TREE, CHAIN], ids=["tree", "chain"])
@pytest.mark.parametrize(
    "other",
    [
        {"predict": [21, 22, 99, 99]},
        {"accept_index": [0, 1, -1, -1], "accept_len": 2, "num_correct_drafts": 1},
    ],
    ids=["predict", "accept_index and accept_token_num"],
)
def test_a_rank_that_the_broadcast_missed(record: Build, verify: Build, sampled: Line, other: Line) -> None:
    result = accepts(record, verify(**sampled), rank(1), verify(**sampled | other))
    assert "ACC-RANK" in {f.rule for f in result.findings}
