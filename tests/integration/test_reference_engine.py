"""The bundled engine is real: it says what its plain run says, from the paged pool alone, and breaks no law."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from speckv_debug.checks.run import check
from speckv_debug.collectors.reference.config import EngineConfig
from speckv_debug.collectors.reference.engine import Engine
from speckv_debug.collectors.reference.model import Transformer
from speckv_debug.collectors.reference.observe import EventLog
from speckv_debug.collectors.reference.plain import plain_greedy, plain_kv
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.run import process_of, run, start
from speckv_debug.collectors.reference.workload import Job, mixed_jobs
from speckv_debug.model.finding import Severity
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.recorder import Recorder
from speckv_debug.recording.schema import SCHEMAS
from tests.reference_configs import some_config

pytestmark = pytest.mark.usefixtures("one_thread")


TOLERANCE = 1e-9  # of float64 sums in another order; argmax gaps are seven orders above


@dataclass
class Witnessed:
    """Requests as their holds ended: committed tokens and their KV."""

    ended: list[tuple[str, list[int], torch.Tensor]] = field(default_factory=list)

    def __call__(self, request: Request, kv: torch.Tensor) -> None:
        self.ended.append((request.id, request.tokens[: request.committed], kv))

    def wrong(self, model: Transformer) -> list[str]:
        """Ids whose committed KV is not that of a plain run over the same tokens."""
        return [
            name for name, tokens, kv in self.ended if (kv - plain_kv(model, tokens)).abs().max() > TOLERANCE
        ]


def wrong_outputs(engine: Engine) -> list[str]:
    """Ids of finished requests whose output is not that of plain greedy decoding."""
    finished = [request for request in engine.requests.values() if request.ended == "finish"]
    assert finished
    return [
        r.id
        for r in finished
        if r.text != plain_greedy(engine.model, r.prompt, r.max_new_tokens, r.stop_token)
    ]


def prove_equal(seed: int) -> None:
    """Run random settings; tokens and committed KV equal the plain run's."""
    witness = Witnessed()
    outcome = run(some_config(seed, sampling=False), mixed_jobs(seed), witness=witness)
    assert wrong_outputs(outcome.engine) == []
    assert len(witness.ended) >= 9
    assert witness.wrong(outcome.engine.model) == []


seeds = st.integers(0, 10**6)
unhurried = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=12, **unhurried)
@given(seeds)
def test_tokens_and_kv_equal_plain_greedy_decoding(seed: int) -> None:
    prove_equal(seed)


@pytest.mark.full
@settings(max_examples=200, **unhurried)
@given(seeds)
def test_tokens_and_kv_equal_plain_greedy_decoding_200_times(seed: int) -> None:
    prove_equal(seed)


@pytest.mark.parametrize("page_size", [1, 4, 16])
@pytest.mark.parametrize("topk", [1, 2, 3, 4])
def test_every_topk_at_every_page_size_equals_plain_greedy_decoding(topk: int, page_size: int) -> None:
    config = EngineConfig(
        topk=topk,
        num_draft_tokens=4 if topk == 1 else 3 + topk,
        page_size=page_size,
        slots=512,
        overlap=page_size == 4,
    )
    witness = Witnessed()
    outcome = run(config, mixed_jobs(topk, count=3), witness=witness)
    assert wrong_outputs(outcome.engine) == []
    assert witness.wrong(outcome.engine.model) == []


def test_at_no_temperature_rejection_sampling_is_greedy_decoding() -> None:
    config = EngineConfig(topk=1, num_draft_tokens=4, sampling="rejection", temperature=1e-4)
    witness = Witnessed()
    outcome = run(config, mixed_jobs(4), witness=witness)
    assert wrong_outputs(outcome.engine) == []
    assert witness.wrong(outcome.engine.model) == []


def test_sampled_tokens_have_the_kv_of_a_plain_run_over_them() -> None:
    config = EngineConfig(topk=1, num_draft_tokens=4, sampling="rejection", overlap=True)
    witness = Witnessed()
    outcome = run(config, mixed_jobs(4), witness=witness)
    assert witness.wrong(outcome.engine.model) == []
    assert wrong_outputs(outcome.engine) != []  # it did sample


JOB = Job(id="a", prompt=tuple(range(3, 19)), max_new_tokens=24)


def output_with(position: int | None) -> list[int]:
    """What request `a` says when KV of one committed position is overwritten by another's, or none."""
    engine = Engine(EngineConfig(seed=7, page_size=4))
    engine.receive(JOB)
    for _ in range(3):
        engine.iterate()
    request = engine.requests["a"]
    if position is not None:
        slot, other = engine.table.slots(request, position, position + 1), engine.table.slots(request, 0, 1)
        for layer in range(engine.pool.layers):
            at, source = torch.tensor(slot), torch.tensor(other)
            engine.pool.write(layer, at, *engine.pool.read(layer, source))
    while engine.is_busy:
        engine.iterate()
    return request.text


@pytest.mark.parametrize("position", [3, 9, 15])
def test_overwriting_one_committed_slot_gives_other_tokens(position: int) -> None:
    right = output_with(None)
    spoilt = output_with(position)
    assert len(spoilt) == len(right) == 24
    assert spoilt != right


def test_the_same_seed_records_the_same_events() -> None:
    logs = [EventLog(), EventLog()]
    for log in logs:
        run(some_config(5), mixed_jobs(5), log)
    assert logs[0] == logs[1]


def test_events_name_columns_of_the_contract_and_fill_them() -> None:
    log = EventLog()
    run(some_config(4), mixed_jobs(4), log)
    for table, columns in log:
        assert set(columns) <= set(SCHEMAS[table].names), table
    for columns in log.of("accept"):
        assert set(SCHEMAS["accept"].names) - set(columns) == {"seq", "t_ns"}
        assert all(value is not None for name, value in columns.items() if name != "lane")


@dataclass
class Census:
    """What happened over several runs."""

    depths: Counter[int] = field(default_factory=Counter)
    rounds: Counter[int] = field(default_factory=Counter)
    accepted: Counter[int] = field(default_factory=Counter)
    trees: int = 0
    moving: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    def count(self, config: EngineConfig, log: EventLog) -> None:
        steps = config.num_steps
        for verify in log.of("accept"):
            n, first = verify["accept_len"], verify["block_start"]
            self.rounds[steps] += 1
            self.accepted[steps] += n
            if config.topk > 1:
                self.trees += 1
                self.moving += verify["accept_index"][:n] != list(range(first, first + n))
        self.kinds.update(columns["kind"] for columns in log.of("release"))
        self.kinds.update(columns["action"] for columns in log.of("cache"))
        self.kinds.update(columns["reason"] for columns in log.of("free"))
        self.kinds["prefix hit"] += sum(bool(c.get("served_len")) for c in log.of("cache"))
        self.kinds["padding"] += sum(columns["padded"] for columns in log.of("forward"))
        self.kinds["draft tail"] += sum(columns["caller"] == "draft_tail" for columns in log.of("move"))
        committed = Counter(c["request"] for c in log.of("lengths") if c["cause"] == "verify_commit")
        self.kinds["dropped result"] += len(log.of("accept")) - committed.total()


@pytest.fixture(
    scope="module", params=[pytest.param(12, id="12"), pytest.param(200, id="200", marks=pytest.mark.full)]
)
def judged(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Census, list[str]]]:
    """So many random runs: what happened, and what `check` said of each recording."""
    census, complaints = Census(), list[str]()
    for seed in range(request.param):
        config, out, log = some_config(seed), tmp_path_factory.mktemp("clean") / "x.speckv", EventLog()
        complaints += judge_run(config, seed, out, log)
        census.count(config, log)
    yield census, complaints


def judge_run(config: EngineConfig, seed: int, out: Path, log: EventLog) -> list[str]:
    """Record a run and check it; whatever is not a clean, fully judged recording is a complaint."""
    recorder = Recorder(out, process_of(config))
    start_with(config, log, recorder).run(mixed_jobs(seed))
    recorder.close()
    result = check(Recording.open(out))
    found = [
        f"seed {seed}: {f.rule} step {f.step} request {f.request}: {f.message}"
        for f in result.findings
        if f.severity is not Severity.NOTE
    ]
    open_ = [u for u in result.unknown if (u.rule, config.sampling) != ("RPL-ACCEPT", "rejection")]
    if sum(u.instances for u in open_) > 0.001 * sum(result.checked.values()):
        found.append(f"seed {seed}: not judged: {open_}")
    return found


class Both:
    """Events go to the recording and stay at hand."""

    def __init__(self, log: EventLog, recorder: Recorder) -> None:
        self.log, self.recorder = log, recorder

    def emit(self, table: str, /, **columns: object) -> None:
        self.log.emit(table, **columns)
        self.recorder.emit(table, **columns)


def start_with(config: EngineConfig, log: EventLog, recorder: Recorder) -> Engine:
    return start(config, Both(log, recorder)).engine


def test_check_finds_nothing_in_a_clean_run(judged: tuple[Census, list[str]]) -> None:
    assert judged[1] == []


def test_drafts_are_good_but_imperfect(judged: tuple[Census, list[str]]) -> None:
    census = judged[0]
    for steps, rounds in census.rounds.items():
        mean = census.accepted[steps] / rounds
        assert 1.5 <= mean <= 0.8 * (steps + 1), f"{steps} steps: mean accept length {mean:.2f}"


def test_a_quarter_of_the_tree_verifies_moves_a_row(judged: tuple[Census, list[str]]) -> None:
    census = judged[0]
    assert census.trees > 200
    assert census.moving >= census.trees / 4, f"{census.moving} of {census.trees}"


def test_the_runs_hold_what_an_engine_s_life_holds(judged: tuple[Census, list[str]]) -> None:
    kinds = judged[0].kinds
    due = (
        *("finish", "abort", "retract", "session_trim", "evict", "duplicate_prefix", "overshoot"),
        *("session_save", "session_restore", "session_close", "lock", "unlock", "insert", "match"),
        *("prefix hit", "padding", "draft tail", "dropped result"),
    )
    assert [kind for kind in due if not kinds[kind]] == []
