"""What a recording holds, in numbers: what `info` shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from speckv_debug.model.process import Process
from speckv_debug.recording.arrays import bool_array, numbers
from speckv_debug.recording.problem import Problem
from speckv_debug.recording.process_recording import ProcessRecording
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.schema import SCHEMAS


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """Verifies of one kind: how many, and the mean accept length of those that report one (None: none do)."""

    verifies: int = 0
    mean_accept_len: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSummary:
    """One process in numbers.

    Attributes:
        tables: Table → rows.
        spooled: Events read from the spool (killed, or still recording).
        steps: Distinct engine steps.
        first_step, last_step: Smallest and largest of them, None without any.
        requests: Distinct request ids.
        first_ns, last_ns: Times of the first and last event, ns since the epoch.
        gaps: Missing seq ranges `[a, b)`.
        accepted: Verifies whose acceptance is real.
        simulated: Verifies whose accept length was set by the engine's simulation; in no rate.
        unresolved: Hooks that resolved to nothing.
        whole: Tables that were recorded whole and can be read whole.
    """

    info: Process
    clean: bool | None
    tables: Mapping[str, int] = field(default_factory=dict)
    spooled: int = 0
    steps: int = 0
    first_step: int | None = None
    last_step: int | None = None
    requests: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    first_seq: int | None = None
    last_seq: int | None = None
    gaps: tuple[tuple[int, int], ...] = ()
    accepted: Acceptance = Acceptance()
    simulated: Acceptance = Acceptance()
    unresolved: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def events(self) -> int:
        """Events in all tables."""
        return sum(self.tables.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A recording in numbers; `problems` are those of no single process."""

    path: str
    manifest: Mapping[str, Any]
    processes: tuple[ProcessSummary, ...]
    problems: tuple[Problem, ...]


def summarize(recording: Recording) -> Summary:
    """Read the whole recording once and count."""
    processes = tuple(_process(each) for each in recording.processes)
    own = tuple(problem for problem in recording.problems if problem.process is None)
    return Summary(path=str(recording.path), manifest=recording.manifest, processes=processes, problems=own)


def _process(process: ProcessRecording) -> ProcessSummary:
    problems = process.verify()
    rows = [seq for seq in process.seqs.values() if len(seq)]
    steps, times = _distinct(process, "step"), _span(process, "t_ns")
    accepted, simulated = _acceptance(process)
    found = ProcessSummary(
        info=process.info,
        clean=process.clean,
        tables={name: len(seq) for name, seq in process.seqs.items() if len(seq)},
        spooled=sum(batch.num_rows for files in process.files.values() for batch in files.spool.batches),
        steps=len(steps),
        first_step=min(steps, default=None),
        last_step=max(steps, default=None),
        requests=len(_distinct(process, "request")),
        first_ns=min(times, default=None),
        last_ns=max(times, default=None),
        first_seq=min((int(seq[0]) for seq in rows), default=None),
        last_seq=process.last_seq,
        gaps=tuple(process.gaps()),
        accepted=accepted,
        simulated=simulated,
        unresolved=tuple(name for name, target in process.info.hooks.items() if target is None),
        whole=process.recorded_whole,
        problems=problems,
    )
    process.forget()
    return found


def _columns(process: ProcessRecording, column: str) -> list[pa.ChunkedArray]:
    names = [name for name in process.files if column in SCHEMAS[name].names]
    return [process.columns(name, column).column(column).drop_null() for name in names]


def _distinct(process: ProcessRecording, column: str) -> set[Any]:
    return {value for array in _columns(process, column) for value in array.unique().to_pylist()}


def _span(process: ProcessRecording, column: str) -> list[int]:
    spans = [numbers(array) for array in _columns(process, column) if len(array)]
    return [int(edge) for each in spans for edge in (each.min(), each.max())]


def _acceptance(process: ProcessRecording) -> tuple[Acceptance, Acceptance]:
    verifies = process.columns("accept", "accept_len", "sampling")
    set_by_engine = process.info.settings.get("simulate_acc_len") is not None
    sampling = verifies.column("sampling").to_pylist()
    simulated = np.array([set_by_engine if s is None else s == "simulated" for s in sampling], bool)
    return _mean(verifies, ~simulated), _mean(verifies, simulated)


def _mean(verifies: pa.Table, mask: Any) -> Acceptance:
    lengths = numbers(verifies.column("accept_len").filter(bool_array(mask)).drop_null())
    mean = round(float(lengths.mean()), 4) if len(lengths) else None
    return Acceptance(verifies=int(mask.sum()), mean_accept_len=mean)
