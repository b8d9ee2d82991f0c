"""The reference engine with compressed KV and states beside it: tokens as by plain decoding, recordings without a finding.

Leaving out a clean-up that matters changes what is said, and one that does not matter changes nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from speckv_debug.checks.run import check
from speckv_debug.collectors.reference.config import EngineConfig, ModelShape
from speckv_debug.collectors.reference.engine import Engine
from speckv_debug.collectors.reference.observe import EventLog
from speckv_debug.collectors.reference.run import process_of, run, start
from speckv_debug.model.finding import CheckResult, Severity
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.recorder import Recorder
from tests.kept_kv import KeptKV, wrong_texts
from tests.reference_configs import some_states, stateful_jobs

pytestmark = pytest.mark.usefixtures("one_thread")


unhurried = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


def prove_equal(seed: int) -> None:
    """Run random settings; tokens and committed KV equal the plain run's."""
    config = some_states(seed)
    kept = KeptKV(config)
    outcome = run(config, stateful_jobs(seed), witness=kept)
    assert wrong_texts(outcome.engine.model, list(outcome.requests.values())) == []
    assert len(kept.ended) >= 7
    assert kept.wrong(outcome.engine.model) == []


@settings(max_examples=4, **unhurried)
@given(st.integers(0, 10**6))
def test_tokens_and_kv_equal_plain_greedy_decoding(seed: int) -> None:
    prove_equal(seed)


@pytest.mark.full
@settings(max_examples=200, **unhurried)
@given(st.integers(0, 10**6))
def test_tokens_and_kv_equal_plain_greedy_decoding_200_times(seed: int) -> None:
    prove_equal(seed)


# ---- recordings -----------------------------------------------------------------------------------


@dataclass
class Census:
    """What happened over several runs."""

    kinds: Counter[str] = field(default_factory=Counter)

    def count(self, config: EngineConfig, log: EventLog) -> None:
        self.kinds.update(f"{name} {c['action']}" for name in ("page_ref", "cache") for c in log.of(name))
        self.kinds.update(f"cleared {len(c['ring_rows']) > 0}" for c in log.of("state_clear"))
        self.kinds.update(c["pool"] + " " + c["action"] for c in log.of("state_access"))
        self.kinds.update(c["kind"] for c in log.of("release"))
        self.kinds.update("moved " + c["pool"] for c in log.of("move") if c["src"] != c["tgt"])
        self.kinds["committed"] += len(log.of("state_commit"))
        self.kinds["page freed"] += sum(c["pool"] == "c128" for c in log.of("free"))
        self.kinds["shared page"] += sum(max(c["count_after"]) > 1 for c in log.of("page_ref"))
        self.kinds["prefix hit"] += sum(bool(c.get("served_len")) for c in log.of("cache"))
        self.kinds[f"{config.drafting}, topk {min(config.topk, 2)}"] += 1
        self.kinds[f"C4 state of a {config.c4_state}"] += 1


def judged(config: EngineConfig, seed: int, out: Path) -> tuple[CheckResult, EventLog]:
    """Record a run and check it."""
    log, recorder = EventLog(), Recorder(out, process_of(config))
    start(config, _Both(log, recorder)).engine.run(stateful_jobs(seed))
    recorder.close()
    return check(Recording.open(out)), log


class _Both:
    """Events go to the recording and stay at hand."""

    def __init__(self, *emitters: EventLog | Recorder) -> None:
        self._emitters = emitters

    def emit(self, table: str, /, **columns: object) -> None:
        for emitter in self._emitters:
            emitter.emit(table, **columns)


NOT_JUDGED = {
    ("ACC-BLOCK", "the engine gives accept lengths only"): ("dspark",),
    ("OWN-RACE", "no device times were recorded: the order on the host alone does not tell"): (
        "dspark",
        "eagle",
    ),
    ("OWN-ALIAS", "holders are followed in the main pool only"): ("dspark", "eagle"),
}
"""Rule and reason → drafting of the engines of which it may be unknown for that reason."""
BESIDE = ("ST-C128", "ST-RING", "ST-MAMBA", "ST-SWA", "OWN-REF", "OWN-MAP", "MOV-ALLPOOLS", "LOC-GROUP")


@pytest.fixture(
    scope="module", params=[pytest.param(8, id="8"), pytest.param(200, id="200", marks=pytest.mark.full)]
)
def runs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Census, list[str], Counter[str]]:
    """So many random runs: what happened, what `check` complained of, how many instances it judged of each rule."""
    census, complaints, checked = Census(), list[str](), Counter[str]()
    for seed in range(request.param):
        config = some_states(seed)
        result, log = judged(config, seed, tmp_path_factory.mktemp("clean") / "x.speckv")
        census.count(config, log)
        checked.update(result.checked)
        complaints += [
            f"seed {seed}: {f.rule} step {f.step} request {f.request}: {f.message}"
            for f in result.findings
            if f.severity is not Severity.NOTE
        ]
        complaints += [
            f"seed {seed}: {u}"
            for u in result.unknown
            if u.instances and config.drafting not in NOT_JUDGED.get((u.rule, u.why), ())
        ]
    return census, complaints, checked


def test_check_finds_nothing_and_leaves_nothing_open(runs: tuple[Census, list[str], Counter[str]]) -> None:
    assert runs[1] == []


def test_what_lies_beside_the_kv_is_judged(runs: tuple[Census, list[str], Counter[str]]) -> None:
    assert {rule: runs[2][rule] for rule in BESIDE if runs[2][rule] < 50} == {}


def test_the_runs_hold_what_can_happen_to_states(runs: tuple[Census, list[str], Counter[str]]) -> None:
    due = (
        *("page_ref retain", "page_ref release", "page freed", "shared page", "prefix hit", "cache evict"),
        *("cleared True", "cleared False", "c128_state read", "c128_state write", "c4_state read"),
        *("moved full", "moved indexer"),
        *("committed", "retract", "finish", "C4 state of a page", "C4 state of a request"),
        *("eagle, topk 2", "eagle, topk 1", "dspark, topk 1"),
    )
    assert [kind for kind in due if not runs[0].kinds[kind]] == []


# ---- clean-ups ------------------------------------------------------------------------------------

TREE = EngineConfig(
    seed=7,
    page_size=4,
    slots=1600,
    max_prefill_tokens=64,
    context_len=260,
    window=16,
    compressed=True,
    recurrent=True,
    draft_noise=0.02,
    shape=ModelShape(layers=4),
)


@pytest.fixture(scope="module")
def right() -> dict[str, list[int]]:
    """What the engine says that leaves nothing out."""
    return served(Engine(TREE))


def served(engine: Engine, kept: KeptKV | None = None) -> dict[str, list[int]]:
    """What an engine says to its clients."""
    engine.releasing.witness = kept
    return {request.id: request.text for request in engine.run(stateful_jobs(7)).values()}


def test_without_the_clear_of_rejected_rows_other_tokens_are_said(right: dict[str, list[int]]) -> None:
    engine = Engine(TREE)
    assert engine.states is not None
    engine.states.clear = lambda *_: None  # type: ignore[method-assign]
    kept = KeptKV(TREE)
    said = served(engine, kept)
    assert said != right
    assert wrong_texts(engine.model, list(engine.requests.values()))
    assert kept.wrong(engine.model)


def test_clearing_c4_too_changes_nothing(right: dict[str, list[int]]) -> None:
    engine = Engine(TREE)
    states = engine.states
    assert states is not None
    clear, cleared = states.clear, list[int]()

    def needless(round_, lens):  # type: ignore[no-untyped-def]
        clear(round_, lens)
        for request, begin, n in zip(round_.requests, round_.starts, lens, strict=True):
            states.c4.clear(request, begin, states.rejected(n), accept_len=n, width=6)
            cleared.append(6 - n)

    states.clear = needless  # type: ignore[method-assign]
    assert served(engine) == right
    assert sum(cleared) > 50


def test_a_ring_that_is_not_emptied_at_the_end_of_a_row_speaks_to_the_next_request(
    right: dict[str, list[int]],
) -> None:
    engine = Engine(TREE)
    assert engine.states is not None
    engine.states.c128.end_row = lambda request: None  # type: ignore[method-assign]
    assert served(engine) != right


def test_states_of_rejected_rows_that_a_chain_commits_change_tokens() -> None:
    """DSpark clears nothing; it does not write what was not accepted."""
    chain = {"topk": 1, "num_draft_tokens": 4, "drafting": "dspark"}
    config = EngineConfig(
        seed=8,
        page_size=4,
        slots=1600,
        context_len=260,
        window=16,
        compressed=True,
        draft_noise=0.02,
        shape=ModelShape(layers=4),
        **chain,  # type: ignore[arg-type]
    )
    right, engine = served(Engine(config)), Engine(config)
    assert engine.states is not None
    engine.states.c128.by_prefix = False  # all rows are written at once
    engine.states.clear = lambda *_: None  # type: ignore[method-assign]
    assert served(engine) != right


def test_the_same_seed_records_the_same_events() -> None:
    logs = [EventLog(), EventLog()]
    for log in logs:
        run(some_states(5), stateful_jobs(5), log)
    assert logs[0] == logs[1]
