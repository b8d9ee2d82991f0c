"""A recording's summary as text and as JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, TextIO

from speckv_debug.model.process import Pool, Process
from speckv_debug.model.text import amount, printable
from speckv_debug.recording.atomic import jsonable
from speckv_debug.recording.problem import Problem
from speckv_debug.recording.summary import Acceptance, ProcessSummary, Summary

SHOWN_GAPS = 10


def render_json(summary: Summary, out: TextIO) -> None:
    """Every number, one JSON object."""
    processes = [_process_fields(process) for process in summary.processes]
    value = {
        "path": summary.path,
        "manifest": summary.manifest,
        "processes": processes,
        "problems": [_problem_fields(problem) for problem in summary.problems],
    }
    out.write(json.dumps(jsonable(value), indent=2) + "\n")


def _process_fields(process: ProcessSummary) -> dict[str, Any]:
    info = process.info
    names = (
        "engine",
        "engine_version",
        "adapter",
        "pid",
        "host",
        "from_start",
        "settings",
        "hooks",
    )
    own = {"label": info.label, "rank": asdict(info.rank)} | {name: getattr(info, name) for name in names}
    counts = ["events", "spooled", "first_seq", "last_seq", "gaps", "steps", "first_step", "last_step"]
    counts += ["requests", "first_ns", "last_ns", "unresolved"]
    return {
        **own,
        "recorded_whole": process.whole,
        "pools": [asdict(pool) for pool in info.pools],
        "ended_in_order": process.clean,
        "tables": dict(process.tables),
        **{name: getattr(process, name) for name in counts},
        "acceptance": asdict(process.accepted),
        "simulated_acceptance": asdict(process.simulated),
        "problems": [_problem_fields(problem) for problem in process.problems],
    }


def _problem_fields(problem: Problem) -> dict[str, Any]:
    return {"kind": str(problem.kind), **{k: v for k, v in asdict(problem).items() if k != "kind"}}


def render_text(summary: Summary, out: TextIO) -> None:
    """One block for the recording, one a process; everything from the recording is escaped."""
    lines = [*_heading(summary)]
    for process in summary.processes:
        lines += ["", *_process_lines(process)]
    out.write("".join(f"{printable(line)}\n" for line in lines))


def _heading(summary: Summary) -> Iterator[str]:
    manifest = summary.manifest
    events = sum(process.events for process in summary.processes)
    yield f"{summary.path}: {amount(events, 'event')} of {amount(len(summary.processes), 'process', 'processes')}"
    if manifest.get("format_version") is not None:
        by = f", written by speckv-debug {manifest['tool_version']}" if "tool_version" in manifest else ""
        yield f"  format    version {manifest['format_version']}{by}"
    if isinstance(command := manifest.get("command"), list) and command:
        yield f"  command   {shlex.join(map(str, command))}"
    yield from (f"  missing   {problem}" for problem in summary.problems)


def _process_lines(process: ProcessSummary) -> Iterator[str]:
    info = process.info
    yield f"{info.label}: {_engine(info)}"
    yield from (f"  pool      {_pool(pool)}" for pool in info.pools)
    if info.settings:
        yield f"  settings  {_pairs(info.settings)}"
    yield f"  tables    {_tables(process)}"
    yield f"  whole     {', '.join(process.whole) or 'nothing is known to be recorded whole'}"
    yield f"  start     {_start(info)}"
    yield f"  steps     {_steps(process)}, {amount(process.requests, 'request')}{_time(process)}"
    yield from _acceptance(process)
    if process.unresolved:
        yield f"  hooks     did not resolve: {', '.join(process.unresolved)}"
    yield from (f"  missing   {line}" for line in _missing(process))


def _engine(info: Process) -> str:
    parts = [f"{info.engine or 'unknown engine'} {info.engine_version or ''}".strip()]
    parts += [f"adapter {info.adapter}"] if info.adapter else []
    parts += [f"host {info.host}"] if info.host else []
    return ", ".join(parts)


def _start(info: Process) -> str:
    if info.from_start:
        return "from the first allocation"
    return "after the first allocation" if "from_start" in info.raw else "unknown"


def _pool(pool: Pool) -> str:
    facts = {"kind": pool.kind, "slots": pool.slots, "page size": pool.page_size}
    facts |= {"reserved": pool.reserved_slots, "layers": pool.layers, "namespace": pool.namespace}
    facts |= {"allocated by": pool.allocated_by}
    return f"{pool.name}: {_pairs({name: value for name, value in facts.items() if value is not None})}"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{k} {v if isinstance(v, str) else json.dumps(jsonable(v))}" for k, v in values.items())


def _tables(process: ProcessSummary) -> str:
    return ", ".join(f"{name} {rows}" for name, rows in process.tables.items()) or "no rows"


def _steps(process: ProcessSummary) -> str:
    return f"{process.steps}" + (
        f" (from {process.first_step} to {process.last_step})" if process.steps else ""
    )


def _time(process: ProcessSummary) -> str:
    if process.first_ns is None or process.last_ns is None:
        return ", no times"
    seconds = (process.last_ns - process.first_ns) / 1e9
    return f", {seconds:.3f} s from {_moment(process.first_ns)}"


def _moment(t_ns: int) -> str:
    try:
        return datetime.fromtimestamp(t_ns // 1_000_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return f"{t_ns} ns"


def _acceptance(process: ProcessSummary) -> Iterator[str]:
    if process.accepted.verifies:
        yield f"  accepted  {_mean(process.accepted)}"
    if process.simulated.verifies:
        yield f"  simulated {_mean(process.simulated)} (set by the engine, says nothing about acceptance)"


def _mean(acceptance: Acceptance) -> str:
    mean = acceptance.mean_accept_len
    length = "accept length not recorded" if mean is None else f"mean accept length {mean:.2f}"
    return f"{acceptance.verifies} verifies, {length}"


def _missing(process: ProcessSummary) -> Iterator[str]:
    yield from map(str, process.problems)
    if process.gaps:
        events = sum(stop - first for first, stop in process.gaps)
        places = ", ".join(f"[{first}, {stop})" for first, stop in process.gaps[:SHOWN_GAPS])
        more = len(process.gaps) - SHOWN_GAPS
        places += f" and {amount(more, 'more place')}" if more > 0 else ""
        yield f"{process.info.label}: {amount(events, 'event')} between recorded ones, at seq {places}"
