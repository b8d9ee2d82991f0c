"""Every hook that a release's tier promises is a function of that release, with the parameters that the hook reads."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest
from contract import COMPRESSED, METHODS, every_target, function_hooks, method_hooks
from scenarios import FETCHED

from speckv_debug.collectors.hooking import Target
from speckv_debug.collectors.sglang import compressors
from speckv_debug.collectors.sglang.releases import BASIC, KNOWN, promised, tier
from speckv_debug.collectors.sglang.sources import Found, Sources
from speckv_debug.collectors.sglang.window_forwards import PEERS

OPTIONAL_METHODS = {"free_pages", "free_full", "swa_clear", "move_core", "cache_finished", "set_back"}
SESSION_METHODS = {
    "session_match",
    "session_finish",
    "session_tail",
    "session_trim",
    "session_free",
    "session_close",
}
BY_PLACE = {("0.5.14", "model_worker_batch"): "batch"}
"""Parameters of another name in a release, which its callers pass by place."""
BACKENDS = ("triton", "flashinfer", "flashattention", "trtllm_mha", "torch_native", "intel_amx", "aiter")
LAYOUTS = "sgl_kernel/deepseek_v4/compress_v2.cuh"
PLANS = {
    "DecodePlan": [
        *(("uint32_t", "seq_len"), ("int32_t", "write_loc")),
        *(("int32_t", "read_page_0"), ("int32_t", "read_page_1")),
    ],
    "CompressPlan": [
        *(("uint32_t", "seq_len"), ("uint16_t", "ragged_id"), ("uint16_t", "buffer_len")),
        *(("int32_t", "read_page_0"), ("int32_t", "read_page_1")),
    ],
    "WritePlan": [("uint32_t", "ragged_id"), ("int32_t", "write_loc")],
}
"""Entries of compressors' plans, field by field."""
every_release = pytest.mark.parametrize(
    "release", [pytest.param(r, marks=() if r in FETCHED else pytest.mark.full) for r in KNOWN]
)


@lru_cache
def sources(release: str) -> Sources:
    """An unpacked release."""
    folder = Path(sys.prefix) / f"sglang-{release}"
    assert (folder / "sglang").is_dir(), f"{folder} is missing: make setup-releases fetches it"
    return Sources(folder)


def resolved(release: str, target: Target) -> Found | None:
    """The first candidate that can be wrapped, as `Patches.install` takes it."""
    return sources(release).first_function(target.candidates)


def due(release: str) -> set[Target]:
    """What the tier promises, and what belongs to a family that the release has."""
    found = set(promised(release))
    if tier(release) == BASIC:
        return found
    families = {target for target in function_hooks() if not target.optional}
    return found | {target for target in families if sources(release).has_module_of(target.candidates)}


def misfits(
    names: tuple[str, ...], reads: frozenset[str], leading: tuple[str, ...], own: set[str]
) -> Iterator[str]:
    """What a hook reads and the function has not, and leading parameters that stand elsewhere."""
    yield from sorted(f"no parameter {name}" for name in reads - set(names) - own)
    leading = tuple(name for name in leading if name not in own)
    if names[: len(leading)] != leading:
        yield f"begins with {names[: len(leading)]}, not {leading}"


def test_each_target_and_each_method_has_its_hook() -> None:
    assert every_target() - set(function_hooks()) == set()
    assert set(method_hooks()) - OPTIONAL_METHODS - SESSION_METHODS == set(METHODS) | set(COMPRESSED)


@every_release
def test_what_the_tier_promises_resolves(release: str) -> None:
    assert [target.name for target in due(release) if resolved(release, target) is None] == []


@every_release
def test_functions_have_the_parameters_that_their_hooks_read(release: str) -> None:
    wrong = {}
    for target, expected in function_hooks().items():
        if (found := resolved(release, target)) is not None:
            names = tuple(BY_PLACE.get((release, name), name) for name in found.parameters)
            own = {"self", target.bound_as} if found.in_class else set()
            wrong[expected.hook] = list(misfits(names, expected.reads, target.parameters, own))
    assert {hook: lines for hook, lines in wrong.items() if lines} == {}


@every_release
def test_methods_of_the_default_classes_have_the_parameters_that_their_hooks_read(release: str) -> None:
    minor = int(release.rpartition(".")[2])
    compressed = {
        name: (owners, methods) for name, (since, owners, methods) in COMPRESSED.items() if minor >= since
    }
    for name, (owners, methods) in (METHODS | compressed).items():
        hooked = [
            found
            for owner in owners
            for method in methods
            if (found := sources(release).inherited(f"{owner}.{method}")) is not None
        ]
        assert hooked, f"{name}: none of {methods} in {owners}"
        for found in hooked:
            assert found.is_function
            assert list(misfits(found.parameters, method_hooks()[name].reads, (), {"self"})) == [], name


@every_release
def test_where_the_clear_of_draft_states_does_nothing_on_npus(release: str) -> None:
    """There it is told as not performed, by the emptiness of the function itself."""
    place = "sglang.srt.hardware_backend.npu.dsv4.dsv4_memory_pool:DSV4NPUTokenToKVPool.clear_unaccepted_c128_draft_states"
    found = sources(release).find(place)
    assert (found is not None) is (release in ("0.5.15", "0.5.16", "0.5.17"))
    if found is not None:
        assert isinstance(found.node, ast.FunctionDef)
        assert [type(each) for each in found.node.body] == [ast.Pass]


@every_release
def test_layers_with_a_window_write_where_their_attention_backend_says(release: str) -> None:
    """`SWAKVPool` translates nothing itself; what it is handed is kept under one name by every backend for GPUs and CPUs."""
    found = sources(release).find("sglang.srt.mem_cache.swa_memory_pool:SWAKVPool.set_kv_buffer")
    assert found is not None
    translates = "translate_loc_from_full_to_swa" in ast.unparse(found.node)
    assert translates is (release == "0.5.12"), (
        "its backends keep nothing, and no forward of the window is told"
    )
    folder = Path(sys.prefix) / f"sglang-{release}/sglang/srt/layers/attention"
    for name in BACKENDS if not translates else ():
        assigned = re.search(rf"\b{PEERS}\b(: [\w\[.\]]+)? = ", (folder / f"{name}_backend.py").read_text())
        assert assigned is not None, name


@every_release
def test_plans_of_compressors_have_the_layout_that_is_read(release: str) -> None:
    """The hook resolves wherever the pool clears draft states, and its release's plans have the entries of `plans.py`."""
    if int(release.rpartition(".")[2]) >= 15:
        assert resolved(release, compressors.PLAN) is not None
    (header,) = (Path(sys.prefix) / f"sglang-{release}/sglang").glob(f"**/{LAYOUTS}")
    text = header.read_text()
    for name, fields in PLANS.items():
        body = text.partition(f"{name} {{")[2].partition("};")[0]
        assert re.findall(r"^  (u?int\d+_t) (\w+);", body, re.MULTILINE) == fields, name
