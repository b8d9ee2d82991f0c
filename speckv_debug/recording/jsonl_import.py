"""JSON Lines → a recording. Nothing is left behind if a line is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from speckv_debug import __version__
from speckv_debug.errors import RecordingError
from speckv_debug.model.text import amount, printable
from speckv_debug.recording.atomic import beside, remove, swap_in, unwritable, write_json
from speckv_debug.recording.import_process import ProcessImport
from speckv_debug.recording.line_values import (
    event_name,
    event_values,
    parse_object,
    unknown_columns,
)
from speckv_debug.recording.manifest import MANIFEST, require_version
from speckv_debug.recording.meaning import WORDS, strange_values, why_strange
from speckv_debug.recording.mistake import Mistake, nearest
from speckv_debug.recording.process_file import label_of, mistake_in
from speckv_debug.recording.schema import FORMAT_VERSION, SCHEMAS, TABLES
from speckv_debug.recording.text_stream import DAMAGE, decompressed

HEADERS = ("recording", "process")
LONGEST_LINE = 256 << 20
"""Bytes; no event of an engine comes near."""
LEAVE_OUT = "Leave it out where there is none."


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What an import made.

    Attributes:
        processes: Labels of the processes.
        events: Events in all.
        remarks: What was ignored or assumed, each naming its line.
    """

    processes: tuple[str, ...]
    events: int
    remarks: tuple[str, ...]


def import_jsonl(source: Path | BinaryIO, out: Path, *, replace: bool = False) -> ImportSummary:
    """Make the recording `out` from JSON Lines (plain, gzip, xz or zstd).

    Args:
        source: A file, or a binary stream such as stdin's buffer.
        out: The recording to make; made under another name first, so it is whole or not there.
        replace: Whether a recording of that name may be replaced.

    Raises:
        RecordingError: The source can't be read, a line is wrong or `out` can't be written; `out` is untouched.
        FileExistsError: `out` exists and `replace` is off.
    """
    if os.path.lexists(out) and not replace:
        raise FileExistsError(out)
    temporary = beside(out, "import")
    try:
        temporary.mkdir()
        if isinstance(source, Path):
            summary = _import_file(source, temporary)
        else:
            summary = _import_stream(source, "<stdin>", temporary)
        swap_in(temporary, out)
    except OSError as error:
        raise unwritable(out, error) from error
    finally:
        remove(temporary)
    return summary


def _import_file(source: Path, folder: Path) -> ImportSummary:
    name = printable(str(source))
    try:
        stream = source.open("rb")
    except OSError as error:
        raise RecordingError(f"{name}: {error.strerror}", "Give a file in JSON Lines form.") from error
    with stream:
        return _import_stream(stream, name, folder)


def _import_stream(stream: BinaryIO, name: str, folder: Path) -> ImportSummary:
    importer = _Import(folder, name)
    try:
        for line, text in _lines(stream, name):
            importer.take(line, text)
        return importer.finish()
    except Mistake as mistake:
        raise RecordingError(f"{name}:{importer.line}: {mistake.what}", mistake.remedy) from mistake


def _lines(raw: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers, without a byte order mark."""
    number = 0
    try:
        lines = iter(partial(decompressed(raw).readline, LONGEST_LINE + 1), b"")
        for number, line in enumerate(lines, 1):
            if len(line) > LONGEST_LINE:
                what = f"{name}:{number}: the line goes on behind {LONGEST_LINE >> 20} MiB"
                raise RecordingError(what, "Each event is one JSON object on one line.")
            text = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
            if text:
                yield number, text
    except DAMAGE as error:
        what = f"{name}: damaged after line {number} ({str(error) or type(error).__name__})"
        raise RecordingError(what, "Copy or unpack the file again.") from error


class _Import:
    """The state of one import: the header, the process whose events are read, what to tell the user."""

    def __init__(self, folder: Path, name: str) -> None:
        self.line = 0
        self._folder = folder
        self._name = name
        self._manifest: dict[str, Any] | None = None
        self._process: ProcessImport | None = None
        self._labels: list[str] = []
        self._events = 0
        self._remarks: list[str] = []
        self._ignored: dict[tuple[str, str], list[int]] = {}
        self._strange: dict[tuple[str, str, str | None], list[Any]] = {}

    def take(self, line: int, text: bytes) -> None:
        """One line that is not blank."""
        self.line = line
        try:
            value = parse_object(text.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise Mistake(f"byte {error.start + 1} is no UTF-8", "Save the file as UTF-8.") from error
        name = event_name(value, HEADERS + TABLES)
        if name == "recording":
            self._take_recording(value)
        elif name == "process":
            self._begin(value)
        else:
            self._take_event(name, value)

    def finish(self) -> ImportSummary:
        """Write the rest; the manifest comes last."""
        if not self._labels and self._manifest is None:
            raise RecordingError(f"{self._name} holds no event", "Give a file in JSON Lines form.")
        if self._process is None:
            self._begin({})
        self._end_process()
        manifest = {"tool_version": __version__, "processes": [{"label": label} for label in self._labels]}
        write_json(self._folder / MANIFEST, self._manifest or {"format_version": FORMAT_VERSION, **manifest})
        self._remarks += (what.rstrip() for what in (*self._unknown_columns(), *self._without_meaning()))
        return ImportSummary(tuple(self._labels), self._events, tuple(self._remarks))

    def _unknown_columns(self) -> Iterator[str]:
        for (table, column), (first, count) in self._ignored.items():
            near = nearest(column, SCHEMAS[table].names)
            where = f"{self._name}:{first}: {table} has no column {column!a}"
            yield f"{where}; ignored in {amount(count, 'line')}. {near}"

    def _without_meaning(self) -> Iterator[str]:
        for (table, column, _), (first, count, value) in self._strange.items():
            where = f"{self._name}:{first}: {why_strange(table, column, value)}"
            told = f"in {amount(count, 'line')}; what rests on {table} can't be judged"
            near = nearest(value.lower(), WORDS[table][column]) if isinstance(value, str) else LEAVE_OUT
            yield f"{where}, {told}. {near}"

    def _take_recording(self, value: Mapping[str, Any]) -> None:
        if self._manifest is not None or self._labels:
            raise Mistake(
                '"recording" is not the first line', "One file holds one recording: import each alone."
            )
        own = {key: item for key, item in value.items() if key != "event"}
        self._manifest = {"format_version": FORMAT_VERSION, **own}
        require_version(own, f"{self._name}:{self.line}")

    def _begin(self, value: Mapping[str, Any]) -> None:
        self._end_process()
        raw = {key: item for key, item in value.items() if key not in ("event", "seq")}
        if wrong := mistake_in(raw):
            raise Mistake(wrong, "See the process line of any exported recording.")
        label = self._free_label(label_of(raw))
        self._labels.append(label)
        self._process = ProcessImport(self._folder / label, raw)

    def _free_label(self, label: str) -> str:
        number, free = 0, label
        while free in self._labels:
            number += 1
            free = f"{label}-{number}"
        return free

    def _take_event(self, table: str, value: Mapping[str, Any]) -> None:
        if self._process is None:
            self._remarks.append(
                f"{self._name}:{self.line}: there is no process line: engine, pools, settings and what was"
                " recorded whole are unknown, so many rules can't judge"
            )
            self._begin({})
        assert self._process is not None
        for column in unknown_columns(table, value):
            self._ignored.setdefault((table, column), [self.line, 0])[1] += 1
        row = event_values(table, value)
        for strange, found in strange_values(table, row):
            kind = (table, strange, found if isinstance(found, str) else None)
            self._strange.setdefault(kind, [self.line, 0, found])[1] += 1
        self._process.add(table, row, self.line)

    def _end_process(self) -> None:
        if self._process is None:
            return
        if twice := self._process.repeated():
            seq, first, self.line = twice
            remedy = "Each event has its own; or leave seq out everywhere."
            raise Mistake(f'"seq" {seq} is already that of line {first}', remedy)
        self._process.finish()
        self._events += self._process.events
        self._process = None
