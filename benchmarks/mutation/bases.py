"""Clean recordings in memory: the reference engine over random settings, the real SGLang, and some written by hand."""

from __future__ import annotations

import json
import lzma
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.mutation.state import Line
from speckv_debug.collectors.reference.observe import EventLog
from speckv_debug.collectors.reference.run import process_of, run
from speckv_debug.collectors.reference.workload import mixed_jobs
from speckv_debug.recording.line_values import event_values
from speckv_debug.recording.process_file import label_of, process_from
from speckv_debug.recording.process_recording import ProcessRecording
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.rows import to_batch
from speckv_debug.recording.spool import SpoolContent
from speckv_debug.recording.table_files import TableFiles
from tests.reference_configs import some_config

RECORDINGS = Path(__file__).parents[2] / "tests" / "recordings"
HEADERS = ("recording", "process")
OF_NO_LAW = ("note", "drop")
"""Tables that no law is about."""
PLAIN_JOBS = 2
"""Requests of a run besides the conversation and the two that are aborted: some twenty steps."""


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """A clean recording of one process: its process line, and events with their `seq`."""

    name: str
    head: Line
    lines: tuple[Line, ...]


def reference(seed: int, *, sessions: bool = True) -> Base:
    """A run of the reference engine with random settings."""
    config, log = some_config(seed), EventLog()
    jobs = mixed_jobs(seed, count=PLAIN_JOBS)
    run(config, [job for job in jobs if sessions or job.session is None], log)
    return Base(f"reference {seed}", process_of(config), numbered({"event": t} | c for t, c in log))


def real() -> list[str]:
    """Names of the recordings of the real SGLang in which nothing is wrong."""
    expected = json.loads((RECORDINGS / "real" / "expected.json").read_text())
    return sorted(f"real/{name}.jsonl.xz" for name, due in expected.items() if due["verdict"] == "clean")


def by_hand() -> list[str]:
    """Names of the recordings that show what keeps a rule's law."""
    return sorted(str(path.relative_to(RECORDINGS)) for path in (RECORDINGS / "rules").glob("*/pass.jsonl"))


@cache
def stored(name: str) -> Base | None:
    """A stored recording; None if it is one of several processes, or of no event that a law is about."""
    path = RECORDINGS / name
    with lzma.open(path, "rt") if path.suffix == ".xz" else path.open() as file:
        lines = [json.loads(text) for text in file if text.strip()]
    heads = [line for line in lines if line["event"] == "process"]
    events = [line for line in lines if line["event"] not in HEADERS]
    if len(heads) != 1 or all(line["event"] in OF_NO_LAW for line in events):
        return None
    return Base(name, heads[0], numbered({"event": e["event"]} | _plain(e) for e in events))


def _plain(line: Line) -> Line:
    """Values as the importer takes them, lists as lists: ranges are expanded."""
    values = event_values(line["event"], line).items()
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in values}


def numbered(lines: Iterable[Line]) -> tuple[Line, ...]:
    """The events with a `seq` each, dense from 0 on."""
    return tuple(line | {"seq": number} for number, line in enumerate(lines))


def in_memory(head: Line, lines: Sequence[Line]) -> Recording:
    """The recording of these events, read as from its files."""
    rows: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        rows[line["event"]].append(line)
    label = label_of(head)
    process = ProcessRecording(Path(label), process_from(label, head), clean=True)
    vars(process)["files"] = dict(_files(rows.items()))
    return Recording(Path(label), {}, (process,))


def _files(tables: Iterable[tuple[str, list[Line]]]) -> Iterator[tuple[str, TableFiles]]:
    for name, rows in tables:
        yield name, TableFiles(name, spool=SpoolContent((to_batch(name, rows),)))
