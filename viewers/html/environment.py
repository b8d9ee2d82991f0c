"""What was recorded and how: engine, ranks, pools, settings, hooks, losses, notes, rules judged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from typing import Any

from speckv_debug.model.finding import CheckResult, Unknown
from speckv_debug.model.process import Pool, Process
from speckv_debug.model.text import amount
from speckv_debug.recording.problem import Problem
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.viewers.html.budget import LARGEST, Budget
from speckv_debug.viewers.html.command_line import HIDDEN, command_words, is_secret
from speckv_debug.viewers.html.markup import Html, element, facts, table

MOST_NOTES, MOST_PROBLEMS, MOST_REASONS = 50, 200, 200
POOL_COLUMNS = (
    "name",
    "kind",
    "slots",
    "page size",
    "reserved",
    "layers",
    "namespace",
    "allocated by",
    "components",
)


def judged_tables(result: CheckResult, room: Budget | None = None) -> Html:
    """What could not be judged and why, and how many instances each rule judged, as much as there is room for."""
    room = room or Budget(LARGEST)
    largest = sorted(result.unknown, key=lambda entry: (-entry.instances, entry.rule, entry.why))
    shown = room.fitting(largest[:MOST_REASONS], lambda entries: _unjudged(entries, result.unknown))
    judged = room.fitting(sorted(result.checked.items()), lambda rows: _judged(rows, result))
    nothing = Html() if largest else element("p", "Everything that occurs in the recording was judged.")
    return element("div", shown, nothing, judged, class_="evidence")


def _unjudged(shown: Sequence[Unknown], everything: Sequence[Unknown]) -> Html:
    """The reasons by rule; of many those with the most instances."""
    if not everything:
        return Html()
    rows = sorted((entry.rule, entry.instances, entry.why) for entry in shown)
    grid = table(("rule", "instances", "why"), rows, caption="Can't be judged")
    if len(shown) == len(everything):
        return grid
    rest = sum(entry.instances for entry in everything) - sum(entry.instances for entry in shown)
    said = f"{amount(len(everything) - len(shown), 'more reason')} of {amount(rest, 'instance')} not shown; "
    return element("div", grid, _elsewhere(said, "speckv-debug check --verbose", " lists all."))


def _judged(rows: Sequence[tuple[str, int]], result: CheckResult) -> Html:
    """Rules that judged, each with how many instances, as one list; those that had nothing to judge behind it."""
    counts = [element("li", element("code", rule), f" {count:,}") for rule, count in rows if count]
    unjudged, rules = {entry.rule for entry in result.unknown}, len(result.checked)
    idle = [rule for rule, count in rows if not count and rule not in unjudged]
    parts = [element("p", "Instances judged by each rule:"), element("ul", *counts, class_="counts")]
    if idle:
        parts.append(element("p", f"Nothing that these judge occurs: {', '.join(idle)}.", class_="aside"))
    if rules > len(rows):
        parts.append(element("p", f"{amount(rules - len(rows), 'more rule')} not shown.", class_="aside"))
    return element("div", *parts) if rows else Html()


def _elsewhere(said: str, command: str, lists: str) -> Html:
    return element("p", said, element("code", command), lists, class_="aside")


def environment_section(recording: Recording, room: Budget | None = None) -> Html:
    """The recording as a whole, then each process, as many as there is room for."""
    room = room or Budget(LARGEST)
    manifest = recording.manifest
    pairs = [
        ("recording", recording.path.name),
        ("command", element("code", command_words(manifest.get("command")))),
        ("recorded", _span(manifest)),
        ("ended in order", _yes(manifest.get("clean_shutdown"))),
        ("written by", f"speckv-debug {manifest.get('tool_version') or 'unknown'}"),
        ("format version", manifest.get("format_version", "unknown")),
    ]
    told = facts(pairs)
    room.takes(told)
    problems = room.part(0.5).fitting(recording.problems[:MOST_PROBLEMS], partial(_problems, recording))
    shown = list(takewhile(room.takes, map(_process, recording.processes)))
    parts = [told, problems, *shown]
    if hidden := len(recording.processes) - len(shown):
        said = f"{amount(hidden, 'more process', 'more processes')} not shown for size; "
        parts.append(_elsewhere(said, "speckv-debug info", " lists all."))
    return element("section", element("h2", "Environment"), *parts, id="environment")


def _span(manifest: Mapping[str, Any]) -> str:
    start, end = _time(manifest.get("start_ns")), _time(manifest.get("end_ns"))
    return f"{start or 'unknown'} to {end or 'unknown'}"


def _time(nanoseconds: object) -> str | None:
    if not isinstance(nanoseconds, int):
        return None
    try:
        return datetime.fromtimestamp(nanoseconds // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return None


def _yes(value: object) -> str:
    return "unknown" if value is None else "yes" if value else "no"


def _problems(recording: Recording, shown: Sequence[Problem]) -> Html:
    if not recording.problems:
        return Html()
    rows = [(p.where, p.what, ", ".join(p.tables)) for p in shown]
    title = _of("Missing or damaged", rows, recording.problems)
    return table(("where", "what", "tables concerned"), rows, caption=title)


def _process(process: ProcessRecording) -> Html:
    info = process.info
    parts = [
        element("h3", "Process ", element("code", process.label)),
        facts(_process_facts(info)),
        element("div", *_pools(info.pools), *_settings(info.settings), *_notes(process), class_="evidence"),
        *_unresolved(info.hooks),
        _tables(process),
    ]
    return element("article", *parts, class_="process")


def _process_facts(info: Process) -> list[tuple[str, object]]:
    rank = ", ".join(
        f"{axis} {value}"
        for axis, value in (("tp", info.rank.tp), ("pp", info.rank.pp), ("dp", info.rank.dp))
        if value is not None
    )
    start = "yes" if info.from_start else "no: who holds slots that were never seen allocated is unknown"
    return [
        ("engine", " ".join(filter(None, (info.engine, info.engine_version))) or "unknown"),
        ("adapter", info.adapter or "unknown"),
        ("rank", rank or "unknown"),
        ("host, pid", f"{info.host or 'unknown'}, {'unknown' if info.pid is None else info.pid}"),
        ("from the start", start),
    ]


def _unresolved(hooks: Mapping[str, str | None]) -> Iterator[Html]:
    """Hooks without a target stand open, the others fold away."""
    missing = sorted(name for name, target in hooks.items() if not target)
    if missing:
        yield table(("hook",), [(name,) for name in missing], caption="Hooks that found no function")
    if found := sorted((name, target) for name, target in hooks.items() if target):
        grid = table(("hook", "function"), found, caption="Hooks")
        yield element("details", element("summary", f"Hooks: {len(found)} found their function"), grid)


def _pools(pools: Sequence[Pool]) -> Iterator[Html]:
    if pools:
        yield table(POOL_COLUMNS, map(_pool, pools), caption="Pools")


def _pool(pool: Pool) -> tuple[object, ...]:
    components = ", ".join(pool.components) if pool.components else None
    sizes = (pool.slots, pool.page_size, pool.reserved_slots, pool.layers)
    return (pool.name, pool.kind, *sizes, pool.namespace, pool.allocated_by, components)


def _settings(settings: Mapping[str, Any]) -> Iterator[Html]:
    known = [
        (name, HIDDEN if is_secret(name, str(value)) else _value(value))
        for name, value in sorted(settings.items())
        if value is not None
    ]
    if known:
        yield table(("setting", "value"), known, caption="Settings")


def _value(value: object) -> object:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return value
    return json.dumps(value, sort_keys=True, default=str)


def _tables(process: ProcessRecording) -> Html:
    whole = set(process.info.tables)
    names = sorted({*process.present, *whole})
    rows = [(name, _rows(process, name), "yes" if name in whole else "no") for name in names]
    grid = table(("table", "events", "recorded whole"), rows, caption="Event tables")
    total = sum(row[1] for row in rows if row[1] is not None)
    return element("details", element("summary", f"Event tables: {amount(total, 'event')}"), grid)


def _rows(process: ProcessRecording, name: str) -> int | None:
    extent = process.extents.get(name)
    return extent.rows if extent is not None else None if ":" in name else 0


def _notes(process: ProcessRecording) -> Iterator[Html]:
    notes = process.columns("note", "step", "level", "text").drop_columns(["seq"])
    drops = process.columns("drop", "step", "table", "rows", "why").drop_columns(["seq"])
    if drops.num_rows:
        lost = drops.to_pylist()
        rows = [tuple(drop.values()) for drop in lost[:MOST_NOTES]]
        yield table(
            ("step", "table", "rows", "why"), rows, caption=_of("Left out by the recorder", rows, lost)
        )
    if notes.num_rows:
        said = notes.to_pylist()
        rows = [tuple(note.values()) for note in said[:MOST_NOTES]]
        yield table(("step", "level", "text"), rows, caption=_of("Notes of engine and recorder", rows, said))


def _of(title: str, shown: Sequence[object], everything: Sequence[object]) -> str:
    return title if len(shown) == len(everything) else f"{title}, the first {len(shown)} of {len(everything)}"
