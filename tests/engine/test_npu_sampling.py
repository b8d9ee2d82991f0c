"""The samplers of `sgl_kernel_npu` can't run here: what SGLang hands them, broadcasts and returns is read from its source.

`tests/unit/checks/test_npu_sampling.py` holds that a break of this contract is found in a recording.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from scenarios import FETCHED

from speckv_debug.collectors.sglang.releases import KNOWN
from speckv_debug.collectors.sglang.sources import Sources

CONTRACT = ("predicts", "accept_index", "accept_token_num")
SAMPLERS = {"chain_speculative_sampling_triton", "tree_speculative_sampling_target_only"}
SINCE = {"eagle_sample": 15, "samplers on NPUs": 20}
"""Releases 0.5.N from which on there is such a function; before 0.5.20 an NPU verifies greedily, whatever is asked."""
EAGLE = "sglang.srt.speculative.eagle_utils"
SAMPLING = "sglang/kernels/ops/speculative/verify_sampling.py"
releases = pytest.mark.parametrize(
    "release",
    [
        pytest.param(r, marks=() if r in FETCHED else pytest.mark.full)
        for r in KNOWN
        if int(r.rpartition(".")[2]) >= SINCE["eagle_sample"]
    ],
)


def folder(release: str) -> Path:
    """An unpacked release."""
    return Path(sys.prefix) / f"sglang-{release}"


def sample(release: str) -> ast.FunctionDef:
    """`eagle_sample`."""
    found = Sources(folder(release)).find(f"{EAGLE}:eagle_sample")
    assert found is not None and isinstance(found.node, ast.FunctionDef)
    return found.node


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    """All calls."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def handed(call: ast.Call) -> tuple[str, ...]:
    """The variables that a sampler writes its three results to; empty for another call."""
    given = {each.arg: each.value for each in call.keywords}
    found = [given.get(name) for name in CONTRACT]
    return tuple(each.id for each in found if isinstance(each, ast.Name)) if None not in found else ()


@releases
def test_each_sampler_is_handed_the_same_three_tensors(release: str) -> None:
    written = [names for call in calls(sample(release)) if (names := handed(call))]
    assert len(written) >= 2, "greedy and sampled"
    assert set(written) == {("predict", "accept_index", "num_correct_drafts")}


@releases
def test_the_three_are_broadcast_over_tensor_parallel_ranks(release: str) -> None:
    sent = {
        call.args[0].id
        for call in calls(sample(release))
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "broadcast"
        and isinstance(call.args[0], ast.Name)
    }
    assert sent == {"predict", "accept_index", "num_correct_drafts"}


@releases
def test_the_root_is_counted_in_what_is_returned(release: str) -> None:
    body = sample(release).body
    (*_, returned) = (node.value for node in body if isinstance(node, ast.Return))
    assert isinstance(returned, ast.Tuple)
    set_to = {
        ast.unparse(node.targets[0]): ast.unparse(node.value) for node in body if isinstance(node, ast.Assign)
    }
    predict, lens, index = (ast.unparse(each) for each in returned.elts)
    assert (predict, index) == ("predict", "accept_index")
    assert set_to.get(lens, lens) == "num_correct_drafts + 1"


@releases
def test_which_samplers_an_npu_has(release: str) -> None:
    beside = folder(release) / SAMPLING
    tree = ast.parse(beside.read_text()) if beside.is_file() else sample(release)
    imported = {
        name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "sgl_kernel_npu.sample"
        for name in node.names
    }
    has = int(release.rpartition(".")[2]) >= SINCE["samplers on NPUs"]
    assert imported & SAMPLERS == (SAMPLERS if has else set())
