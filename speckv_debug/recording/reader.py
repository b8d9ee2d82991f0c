"""Reading a recording: tolerant of damage, never changing it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from speckv_debug.errors import RecordingError
from speckv_debug.model.text import printable
from speckv_debug.recording.manifest import MANIFEST, PROCESS, read_object, require_version
from speckv_debug.recording.order import EventBatch, EventOrder
from speckv_debug.recording.problem import REFUSED, Problem, ProblemKind
from speckv_debug.recording.process_file import mistake_in, process_from, stated_by
from speckv_debug.recording.process_recording import ProcessRecording
from speckv_debug.recording.schema import TABLES
from speckv_debug.recording.spool import FOLDER as SPOOL
from speckv_debug.recording.spool import spool_path

__all__ = ["EventBatch", "EventOrder", "Problem", "ProblemKind", "ProcessRecording", "Recording"]

LOST_FILES = (ProblemKind.DAMAGED_PROCESS, ProblemKind.DAMAGED_PART)


class Recording:
    """A recording's manifest and its processes, in the natural order of their labels."""

    def __init__(
        self,
        path: Path,
        manifest: Mapping[str, Any],
        processes: tuple[ProcessRecording, ...],
        problems: tuple[Problem, ...] = (),
    ) -> None:
        self.path = path
        self.manifest = manifest
        self.processes = processes
        self._problems = problems

    @classmethod
    def open(cls, path: Path) -> Recording:
        """Read the manifest and find the processes; tables are read on first use.

        Raises:
            RecordingError: There is no recording, or a newer version wrote it.
        """
        manifest, problems = _manifest(path)
        require_version(manifest, printable(str(path / MANIFEST)))
        folders = [folder for folder in path.iterdir() if folder.is_dir() and is_process(folder)]
        if not folders:
            raise RecordingError(*_nothing_in(path, manifest))
        clean = manifest.get("clean_shutdown")
        ended = clean if isinstance(clean, bool) else None
        return cls(path, manifest, tuple(_process(f, ended) for f in sorted(folders, key=_natural)), problems)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is missing or damaged, of the recording and of each process."""
        return self._problems + tuple(problem for each in self.processes for problem in each.problems)

    @property
    def damaged(self) -> bool:
        """Whether a file of the recording is lost, so that what it held is unknown through no choice of anyone."""
        return any(problem.kind in LOST_FILES for problem in self.problems)

    def process(self, label: str) -> ProcessRecording | None:
        """The process of that label, or None."""
        return next((each for each in self.processes if each.label == label), None)


def _instead_of(file: Path) -> str:
    """What to give instead of a file: the recording that it lies in, or what an import of it makes."""
    for folder in file.parents:
        try:
            if "format_version" in read_object(folder / MANIFEST):
                return f"Give the folder: {printable(shlex.quote(str(folder)))}"
        except (OSError, ValueError):  # no recording's manifest: the folder above may have one
            continue
    if ".json" in file.name:
        return f"Import it first: speckv-debug import {printable(shlex.quote(str(file)))}"
    return ""


def _manifest(path: Path) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    shown = printable(str(path))
    if not path.exists():
        raise RecordingError(f"{shown}: there is no such recording", "Check the path.")
    if not path.is_dir():
        raise RecordingError(f"{shown} is a file; a recording is a folder", _instead_of(path))
    try:
        return read_object(path / MANIFEST), ()
    except (OSError, ValueError) as error:
        if isinstance(error, PermissionError):
            file = printable(str(path / MANIFEST))
            raise RecordingError(f"{file}: {error.strerror}", "Check the permissions.") from error
        missing = isinstance(error, FileNotFoundError)
        what = "missing" if missing else f"damaged ({error})"
        text = f"{what}: version, command line and times are unknown"
        return {}, (Problem(kind=ProblemKind.DAMAGED_MANIFEST, where=MANIFEST, what=text),)


def is_process(folder: Path) -> bool:
    """A folder that says so, is named like one, or holds files of tables; other folders have a `cache` or a `spool` too."""
    if (folder / PROCESS).is_file() or (stated_by(folder.name) and (folder / SPOOL).is_dir()):
        return True
    return any(
        spool_path(folder, table).is_file() or next((folder / table).glob("*.parquet"), None) is not None
        for table in TABLES
    )


def _nothing_in(path: Path, manifest: Mapping[str, Any]) -> tuple[str, str]:
    shown = printable(str(path))
    if manifest:
        return f"{shown}: no process recorded anything", "Record again; `record` says why no engine reported."
    return f"{shown} holds no recording", "Give the folder that `record` or `import` wrote."


def _natural(folder: Path) -> tuple[list[tuple[int, int, str]], str]:
    pieces = re.findall(r"[0-9]+|[^0-9]+", folder.name)
    return [(0, int(p), "") if p.isascii() and p.isdigit() else (1, 0, p) for p in pieces], folder.name


def _process(folder: Path, ended: bool | None) -> ProcessRecording:
    problems: tuple[Problem, ...] = ()
    where = f"{folder.name}/{PROCESS}"
    try:
        raw = read_object(folder / PROCESS)
        if (wrong := mistake_in(raw, words=False)) is not None:
            what = f"damaged ({wrong}): what can't be counts as unknown"
            problems = (
                Problem(kind=ProblemKind.DAMAGED_PROCESS, where=where, what=what, process=folder.name),
            )
    except (OSError, ValueError) as error:
        damage = "missing" if isinstance(error, FileNotFoundError) else f"damaged ({error})"
        if isinstance(error, PermissionError):
            damage = f"{REFUSED} ({error.strerror}; check the permissions)"
        what = f"{damage}: engine, pools and settings are unknown"
        problems = (Problem(kind=ProblemKind.DAMAGED_PROCESS, where=where, what=what, process=folder.name),)
        raw = stated_by(folder.name)
    own = raw.get("clean_shutdown")
    clean = own if isinstance(own, bool) else ended
    return ProcessRecording(folder, process_from(folder.name, raw), clean=clean, problems=problems)
