"""The reference engine with sliding-window layers: tokens as without drafts and pages, recordings without a finding."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from speckv_debug.checks.run import check
from speckv_debug.collectors.reference.config import EngineConfig
from speckv_debug.collectors.reference.plain import plain_greedy, plain_kv
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.run import process_of, start
from speckv_debug.collectors.reference.workload import mixed_jobs
from speckv_debug.model.finding import CheckResult, Severity
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.recorder import Recorder
from tests.kept_kv import assert_kept
from tests.reference_configs import some_config

SEEDS = [*range(6), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(6, 60))]
"""Topk 1 to 4, pages of 1 to 16, with and without overlap; windows of 6, 9 and 16, evicted every 1, 4 and 8 positions."""


def some_windows(seed: int) -> EngineConfig:
    """Random settings with a window."""
    window, interval = (6, 9, 16)[seed % 3], (1, 4, 8)[seed // 3 % 3]
    return replace(some_config(seed, sampling=False), window=window, eviction_interval=interval)


@pytest.mark.parametrize("seed", SEEDS)
def test_tokens_and_kv_are_those_of_plain_decoding(seed: int, tmp_path: Path) -> None:
    config, held = some_windows(seed), list[tuple[list[int], torch.Tensor]]()

    def witness(request: Request, kv: torch.Tensor) -> None:
        held.append((request.tokens[: request.committed], kv))

    recorder = Recorder(tmp_path / "x.speckv", process_of(config))
    outcome = start(config, recorder, witness=witness)
    outcome.engine.run(mixed_jobs(seed))
    recorder.close()
    model = outcome.engine.model
    for request in outcome.requests.values():
        if request.ended == "finish":
            plain = plain_greedy(model, request.prompt, request.max_new_tokens, request.stop_token)
            assert request.text == plain, request.id
    assert held
    for tokens, kv in held:
        assert_kept(kv, plain_kv(model, tokens), config)
    assert_clean(check(Recording.open(tmp_path / "x.speckv"), replay="off"))


def assert_clean(result: CheckResult) -> None:
    """No error, no warning, and what the window has to do with was judged."""
    assert [f.message for f in result.findings if f.severity is not Severity.NOTE] == []
    assert result.checked["ST-SWA"] > 10 and result.checked["OWN-MAP"] > 10
    assert result.checked["LOC-GROUP"] > 10
    assert not [u for u in result.unknown if u.rule in ("ST-SWA", "OWN-MAP", "LOC-GROUP") and u.instances]


def test_the_window_evicts_and_its_slots_are_used_again(tmp_path: Path) -> None:
    config = EngineConfig(window=6, eviction_interval=1, page_size=1)
    outcome = start(config)
    freed = list[int]()
    peers = outcome.engine.peers
    assert peers is not None
    give_back = peers.give_back
    peers.give_back = lambda slots, reason, **more: (  # type: ignore[method-assign]
        freed.extend(peers.of(slots) if reason == "swa_window" else []),
        give_back(slots, reason, **more),
    )[1]
    outcome.engine.run(mixed_jobs(3))
    assert len(freed) > len(set(freed)) > 5


def test_a_window_wider_than_any_request_changes_nothing() -> None:
    plain, wide = (start(EngineConfig(window=window)) for window in (None, 96))
    for outcome in (plain, wide):
        outcome.engine.run(mixed_jobs(2))
    assert {r.id: r.text for r in plain.requests.values()} == {r.id: r.text for r in wide.requests.values()}


def test_a_narrow_window_changes_tokens() -> None:
    plain, narrow = (start(EngineConfig(window=window)) for window in (None, 3))
    for outcome in (plain, narrow):
        outcome.engine.run(mixed_jobs(2))
    assert {r.id: r.text for r in plain.requests.values()} != {r.id: r.text for r in narrow.requests.values()}


def test_a_window_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="window"):
        EngineConfig(window=0)
