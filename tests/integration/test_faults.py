"""Each planted fault is found by its rule at the step where the engine first did wrong, and does real harm."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from speckv_debug.checks.run import check
from speckv_debug.collectors.reference.demo import DemoClock, demo_config, demo_jobs
from speckv_debug.collectors.reference.faults.catalogue import FAULTS, HARMLESS, Fault, fault_named
from speckv_debug.collectors.reference.faults.shot import Shot
from speckv_debug.collectors.reference.observe import EventLog
from speckv_debug.collectors.reference.run import process_of, run
from speckv_debug.collectors.reference.workload import mixed_jobs
from speckv_debug.model.causes import root_causes, worst_first
from speckv_debug.model.finding import Finding, Severity
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.recorder import Recorder
from tests.kept_kv import KeptKV, wrong_texts
from tests.proofs import PLACED, PROOF, drawings, texts
from tests.read_drawing import said_by_place

SEED = 7


pytestmark = pytest.mark.usefixtures("one_thread")


Run = tuple[Shot, bool, list[Finding]]


@pytest.fixture(scope="module")
def path_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Fault], Path]:
    folder = tmp_path_factory.mktemp("faults")
    return lambda fault: folder / f"{fault.name}.speckv"


@pytest.fixture(scope="module")
def run_of(path_of: Callable[[Fault], Path]) -> Callable[[Fault], Run]:
    """Each fault runs once for all tests."""
    runs: dict[str, Run] = {}

    def run(fault: Fault) -> Run:
        if fault.name not in runs:
            runs[fault.name] = recorded(fault, path_of(fault))
        return runs[fault.name]

    return run


def recorded(fault: Fault, out: Path) -> Run:
    """Run with the fault: when it struck, whether tokens or KV came out wrong, what `check` finds."""
    config = demo_config(SEED, fault)
    kept, recorder = KeptKV(config), Recorder(out, process_of(config))
    outcome = run(config, demo_jobs(SEED, config), DemoClock(recorder), fault=fault, witness=kept)
    recorder.close()
    model = outcome.engine.model
    wrong = wrong_texts(model, list(outcome.requests.values())) or kept.wrong(model)
    assert outcome.shot is not None
    found = [f for f in check(Recording.open(out)).findings if f.severity is not Severity.NOTE]
    return outcome.shot, bool(wrong), found


TABLE = (Path(__file__).parents[2] / "docs" / "replay.md").read_text()
REPLAYED = {
    name: set(re.findall(r"RPL-[A-Z]+", seen))
    for name, seen in re.findall(r"^\| `([a-z-]+)` \| [A-Z]+-[A-Z0-9]+ \| (.*) \|$", TABLE, re.MULTILINE)
}
"""Fault → rules of replay that see it, by the table in the documentation."""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_rule_finds_it_at_the_first_bad_step(fault: Fault, run_of: Callable[[Fault], Run]) -> None:
    shot, corrupted, found = run_of(fault)
    assert shot.fired, "no occasion"
    hits = [f for f in found if f.rule == fault.rule]
    assert hits, f"found only {sorted({f.rule for f in found})}"
    assert (hits[0].step, hits[0].request) == (shot.step, shot.request)
    assert hits[0].cause is None, "only a consequence"
    assert min(f.step for f in found if f.step is not None) == shot.step, (
        "something was found before it happened"
    )
    assert corrupted or not fault.corrupts
    shadow = [f for f in found if f.rule == "RPL-SHADOW"]
    assert bool(shadow) == ("RPL-SHADOW" in REPLAYED[fault.name]), "docs/shadow.md says why not"
    assert all(f.cause is not None for f in shadow), "no law explains it"
    replayed = {f.rule for f in found if f.rule.startswith("RPL-") and f.step == shot.step}
    assert REPLAYED[fault.name] - {"RPL-SHADOW"} <= replayed, "docs/replay.md says that replay sees it"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_its_drawings_prove_it(
    fault: Fault, run_of: Callable[[Fault], Run], path_of: Callable[[Fault], Path]
) -> None:
    _, _, found = run_of(fault)
    assert worst_first(root_causes(found))[0].finding.rule == fault.rule
    drawn = drawings(Recording.open(path_of(fault)), found)
    said, placed = texts(drawn), said_by_place(drawn)
    assert not set(PROOF[fault.name]) - said, said
    assert any("✗" in words for words in said)
    assert not set(PLACED.get(fault.name, ())) - placed, placed


def test_what_drawings_prove_is_told_of_every_fault() -> None:
    assert set(PROOF) == {fault.name for fault in FAULTS}
    assert set(PLACED) <= set(PROOF)
    assert all(re.search(r"\d", " ".join(words)) for words in PROOF.values()), (
        "without a number nothing is proven"
    )


@pytest.mark.parametrize("fault", HARMLESS, ids=lambda fault: fault.name)
def test_what_does_no_harm_is_no_finding(fault: Fault, tmp_path: Path) -> None:
    shot, corrupted, found = recorded(fault, tmp_path / "x.speckv")
    assert shot.fired and not corrupted and found == []


def test_every_fault_stands_in_the_table_of_replay() -> None:
    assert list(REPLAYED) == [fault.name for fault in FAULTS]


def test_the_recording_is_the_clean_one_up_to_the_fault() -> None:
    fault = fault_named("move-direction-swapped")
    assert fault is not None
    clean, faulty = EventLog(), EventLog()
    run(demo_config(SEED), mixed_jobs(SEED), clean)
    shot = run(demo_config(SEED, fault), mixed_jobs(SEED), faulty, fault=fault).shot
    assert shot is not None
    differing = next(i for i, (one, other) in enumerate(zip(clean, faulty, strict=False)) if one != other)
    table, columns = faulty[differing]
    assert (table, columns["step"]) == ("move", shot.step)
    assert (columns["src"], columns["tgt"]) == (clean[differing][1]["tgt"], clean[differing][1]["src"])
