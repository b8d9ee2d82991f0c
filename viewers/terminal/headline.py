"""One line about what was recorded: engine, algorithm, page size, ranks, how many steps and requests."""

from __future__ import annotations

from typing import Any

from speckv_debug.model.described import described
from speckv_debug.model.process import Process
from speckv_debug.model.text import amount
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.recording.schema import SCHEMAS


def headline(recording: Recording) -> str:
    """Such as `run.speckv   sglang 0.5.23 · EAGLE topk 2 · page 128 · tp0 · 1,204 steps · 41 requests`."""
    infos = [process.info for process in recording.processes]
    parts = [*described(infos), _ranks(infos), *counts(recording)]
    return f"{recording.path.name}   {' · '.join(part for part in parts if part)}"


def counts(recording: Recording) -> tuple[str, str]:
    """`1,204 steps` and `41 requests`."""
    steps = set().union(*(_distinct(process, "step") for process in recording.processes))
    requests = set().union(*(_distinct(process, "request") for process in recording.processes))
    return amount(len(steps), "step"), amount(len(requests), "request")


def _distinct(process: ProcessRecording, column: str) -> set[Any]:
    found: set[Any] = set()
    for name in process.present:
        if column in SCHEMAS[name].names:
            told = process.columns(name, column).column(column)
            found.update(told.drop_null().unique().to_pylist())
    return found


def _ranks(infos: list[Process]) -> str:
    if len(infos) > 4:
        return f"{len(infos)} processes"
    return " ".join(f"tp{info.rank.tp or 0}" if _plain(info) else info.label for info in infos)


def _plain(info: Process) -> bool:
    return not info.rank.pp and not info.rank.dp
