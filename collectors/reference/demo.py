"""The run that `speckv-debug demo` records: some clients, a small pool, and a fault if one is asked for."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from speckv_debug.collectors.reference.config import EngineConfig
from speckv_debug.collectors.reference.faults.catalogue import Fault
from speckv_debug.collectors.reference.observe import Emitter
from speckv_debug.collectors.reference.run import Outcome, process_of, start
from speckv_debug.collectors.reference.workload import Job, mixed_jobs
from speckv_debug.recording.recorder import Recorder

EPOCH_NS = 1_767_225_600_000_000_000  # 2026-01-01T00:00:00Z, where the demo's clock starts
STEP_NS, EVENT_NS = 10_000_000, 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What became of a demo run.

    Attributes:
        outcome: Requests, engine, and where the fault struck.
        stopped: What ended the engine early; a fault can do that.
    """

    outcome: Outcome
    stopped: str | None


class DemoClock:
    """Stamps events with a time that depends on the run only: two demos of one seed are the same bytes."""

    def __init__(self, recorder: Emitter) -> None:
        """Pass events on to `recorder`."""
        self._recorder, self._events = recorder, 0

    def emit(self, table: str, /, **columns: Any) -> None:
        """10 ms a step, 1 µs an event."""
        self._events += 1
        t_ns = EPOCH_NS + (columns["step"] or 0) * STEP_NS + self._events * EVENT_NS
        self._recorder.emit(table, t_ns=t_ns, **columns)


def demo_config(seed: int, fault: Fault | None = None) -> EngineConfig:
    """A draft tree over pages, with what the fault needs to have an occasion."""
    config = EngineConfig(seed=seed, page_size=4, slots=240, max_prefill_tokens=40)
    return replace(config, **fault.setup) if fault else config


def demo_jobs(seed: int, config: EngineConfig) -> list[Job]:
    """The demo's clients; with compressed KV one completes two entries of C128, and one shares the first."""
    if not config.compressed:
        return mixed_jobs(seed)
    draw = random.Random(seed)
    first = tuple(draw.randrange(config.shape.vocab) for _ in range(270))
    second = first[:140] + tuple(draw.randrange(config.shape.vocab) for _ in range(106))
    return mixed_jobs(seed, count=3, longest=180) + [
        Job(id="long.1", prompt=first, max_new_tokens=10, arrival=4),
        Job(id="long.2", prompt=second, max_new_tokens=12, arrival=12),
    ]


def record_demo(out: Path, *, seed: int, fault: Fault | None = None) -> Demo:
    """Serve the demo's clients and record it into `out`."""
    config = demo_config(seed, fault)
    recorder = Recorder(out, process_of(config))
    outcome = start(config, DemoClock(recorder), fault=fault)
    stopped = None
    try:
        outcome.engine.run(demo_jobs(seed, config))
    except (RuntimeError, IndexError, AssertionError) as error:
        if not fault:
            raise
        stopped = f"{type(error).__name__}: {error}"
        recorder.note(f"the engine stopped: {stopped}", level="error", step=outcome.engine.observer.step)
    finally:
        recorder.close()
    return Demo(outcome=outcome, stopped=stopped)
