"""manifest.json: what the recording as a whole says of itself."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from speckv_debug import __version__
from speckv_debug.errors import RecordingError
from speckv_debug.recording.atomic import create_json, folder_lock, write_json
from speckv_debug.recording.schema import FORMAT_VERSION

MANIFEST = "manifest.json"
PROCESS = "process.json"


def create_manifest(folder: Path, command: Sequence[str] | None = None, **fields: Any) -> bool:
    """Make the recording's folder and its manifest, unless it has one.

    Args:
        folder: The recording.
        command: The recorded command line; this process's own if None.
        fields: Further keys to keep.

    Returns:
        False if there was a manifest already (several processes share a recording).
    """
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "command": list(sys.orig_argv if command is None else command),
        "start_ns": time.time_ns(),
        "end_ns": None,
        "clean_shutdown": False,
        "processes": [],
    }
    return create_json(folder / MANIFEST, manifest | fields)


def finish_manifest(folder: Path, **fields: Any) -> Mapping[str, Any]:
    """Write down how the recording stands: its processes, and whether each of them ended in order.

    May be called again: by each recorded process at its end, and by `record` when the target has ended.

    Args:
        folder: The recording.
        fields: Further keys to keep, such as `exit_code`.

    Returns:
        The manifest as written.
    """
    with folder_lock(folder):
        processes = _processes(folder)
        ended = [each["clean_shutdown"] for each in processes]
        manifest = {
            **_read_object(folder / MANIFEST),
            "end_ns": time.time_ns(),
            "clean_shutdown": bool(ended) and all(ended),
            "processes": processes,
            **fields,
        }
        write_json(folder / MANIFEST, manifest)
    return manifest


def _processes(folder: Path) -> list[dict[str, Any]]:
    found = []
    for path in sorted(folder.glob(f"*/{PROCESS}")):
        raw = _read_object(path)
        entry = {key: raw.get(key) for key in ("pid", "host", "rank", "engine", "engine_version")}
        clean = raw.get("clean_shutdown") is True
        found.append({"label": path.parent.name, **entry, "clean_shutdown": clean})
    return found


def _read_object(path: Path) -> dict[str, Any]:
    try:
        return read_object(path)
    except (OSError, ValueError):
        return {}


def read_object(path: Path) -> dict[str, Any]:
    """A JSON file that holds one object.

    Raises:
        OSError: It can't be read.
        ValueError: It holds no JSON object.
    """
    try:
        value = json.loads(path.read_bytes())
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("it holds no JSON object")  # noqa: TRY004 (damage, not a caller's mistake)
    return value


def require_version(manifest: Mapping[str, Any], where: str) -> None:
    """Refuse a recording of another major version; an absent version is taken for this one.

    Raises:
        RecordingError: A newer program wrote it, or the version is no version.
    """
    version = manifest.get("format_version", FORMAT_VERSION)
    major = str(version).partition(".")[0]
    if isinstance(version, bool) or not major.isascii() or not major.isdigit():
        raise RecordingError(
            f"{where}: format_version is {json.dumps(version)[:40]}", f"It should be {FORMAT_VERSION}."
        )
    if int(major[:9]) != FORMAT_VERSION:
        raise RecordingError(
            f"{where}: the recording has format version {major[:20]}; this program reads {FORMAT_VERSION}",
            "Read it with a newer speckv-debug: pip install -U speckv-debug",
        )
