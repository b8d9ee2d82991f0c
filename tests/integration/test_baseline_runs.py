"""A baseline of one run knows the same fault in another run of the bundled engine, and no other fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import torch

from speckv_debug.checks.known import baseline_of, without_known
from speckv_debug.checks.run import check
from speckv_debug.collectors.reference.demo import record_demo
from speckv_debug.collectors.reference.faults.catalogue import fault_named
from speckv_debug.model.finding import CheckResult
from speckv_debug.recording.reader import Recording

FAULTS = (
    "stale-accept-tail",
    "wrong-sibling-accepted",
    "bonus-wrong-stride",
    "move-direction-swapped",
    "move-missing",
    "predict-left-in-tree-order",
    "commit-one-short",
    "reserve-wrong-page-size",
    "tail-freed-twice",
)
Runs = Callable[[str, int], tuple[Recording, CheckResult]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """`runs(fault, seed)`: a recording of the engine with the fault, and what the laws say of it."""
    folder, threads = tmp_path_factory.mktemp("runs"), torch.get_num_threads()
    torch.set_num_threads(1)  # tensors are tiny; torch's threads would only wait for each other

    @cache
    def judged(name: str, seed: int) -> tuple[Recording, CheckResult]:
        out: Path = folder / f"{name}-{seed}.speckv"
        record_demo(out, seed=seed, fault=fault_named(name))
        recording = Recording.open(out)
        return recording, check(recording, replay="off")

    yield judged
    torch.set_num_threads(threads)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_fault_is_known_again(fault: str, runs: Runs) -> None:
    (first, found), (second, again) = runs(fault, 7), runs(fault, 9)
    assert again.verdict == "findings"
    left = without_known(again, second, baseline_of(found, first))
    assert left.verdict == "clean", left.findings
    assert left.known is not None and left.known.total == len(again.findings) - len(left.findings) > 0


@pytest.mark.parametrize(("known", "new"), list(zip(FAULTS, FAULTS[1:] + FAULTS[:1], strict=True)))
def test_another_fault_is_new(known: str, new: str, runs: Runs) -> None:
    (first, found), (second, other) = runs(known, 7), runs(new, 9)
    left = without_known(other, second, baseline_of(found, first))
    assert left.verdict == "findings"
