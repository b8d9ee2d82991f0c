"""The ledger at any seq is the same, whichever way it was reached, and its pools agree with the engine's own count."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.replay import ledger as ledger_module
from speckv_debug.replay import timeline as timeline_module
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.pool_state import Use, live_requests, pool_states
from speckv_debug.replay.timeline import Timeline, last_event_of, ledger_at, nearest_steps

REAL = Path(__file__).parents[2] / "recordings" / "real"
CLEAN = ("eagle_k4_p64_sync", "eagle_k1_p1_rejection", "ngram_b4_p1")


def opened(name: str, tmp_path: Path) -> ProcessRecording:
    import_jsonl(REAL / f"{name}.jsonl.xz", tmp_path / "x.speckv")
    return Recording.open(tmp_path / "x.speckv").processes[0]


def seen(ledger: Ledger) -> list[Any]:
    pools = [
        (pool.pool, pool.use.tolist(), pool.holder.tolist(), pool.dangling) for pool in pool_states(ledger)
    ]
    return [pools, live_requests(ledger), ledger.why, sorted(ledger.groups.waiting)]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_jump_back_gives_the_same_ledger_as_a_fresh_fold(
    compiled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline_module, "APART", 64)
    monkeypatch.setattr(ledger_module, "COMPILED_FROM", 0 if compiled else 1 << 40)
    process = opened("eagle_k4_p64_sync", tmp_path)
    timeline, draw = Timeline(process), random.Random(1)
    for seq in [timeline.last_seq, *(draw.randrange(-1, timeline.last_seq) for _ in range(12))]:
        assert seen(timeline.at(seq)) == seen(
            Ledger.fold(process, seq) if seq >= 0 else ledger_at(process, -1)
        )


def test_how_far_the_reading_is_before_the_first_event_is_told(tmp_path: Path) -> None:
    told: list[float] = []
    Timeline(opened("eagle_k4_p64_sync", tmp_path), on_progress=told.append)
    assert told == sorted(told)
    assert len(told) > 10 and told[0] > 0 and told[-1] < 1


def test_what_is_lost_on_the_way_is_lost_after_a_jump_back_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline_module, "APART", 64)
    process = opened("eagle_k4_p64_sync", tmp_path)
    monkeypatch.setattr(type(process), "gaps", lambda self: [(1000, 1001), (2000, 2003)])
    timeline = Timeline(process)
    for seq in (2500, 999, 1000, 1500, 1001, 1000, 2002, 2003, 500):
        assert seen(timeline.at(seq)) == seen(Ledger.fold(process, seq))


@pytest.mark.parametrize("name", CLEAN)
def test_pools_agree_with_the_engine_at_every_quiet_point(name: str, tmp_path: Path) -> None:
    process = opened(name, tmp_path)
    timeline, stats = Timeline(process), Columns(process.table("pool_stat"))
    assert len(stats) > 20
    for index in range(len(stats)):
        (pool,) = pool_states(timeline.at(stats.int_at("seq", index) or 0))
        counts = {use: pages * pool.page_size for use, pages in pool.counts.items()}
        assert counts[Use.FREE] == stats.int_at("available", index)
        assert counts[Use.EVICTABLE] == stats.int_at("evictable", index)
        assert counts[Use.LOCKED] == stats.int_at("protected", index)
        assert counts[Use.CONFLICT] == counts[Use.UNHELD] == counts[Use.UNKNOWN] == 0


def test_the_last_event_of_a_step(tmp_path: Path) -> None:
    process = opened("eagle_k4_p64_sync", tmp_path)
    steps = {name: Columns(process.columns(name, "step")) for name in process.files}
    known = np.concatenate([columns.ints("step") for columns in steps.values()])
    last = max(int(c.ints("seq")[c.ints("step") == 30].max(initial=-1)) for c in steps.values())
    assert last_event_of(process, 30) == last
    assert last_event_of(process, int(known.max()) + 7) is None
    assert nearest_steps(process, int(known.max()) + 7) == (int(known.max()),)
