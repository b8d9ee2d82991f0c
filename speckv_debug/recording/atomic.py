"""Files that are either whole or not there, and JSON that every reader accepts."""

from __future__ import annotations

import fcntl
import json
import math
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from speckv_debug.errors import RecordingError
from speckv_debug.model.text import printable


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a temporary file beside `path`, make it durable, then give it the name `path`."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        write(temporary)
        sync(temporary)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync(path.parent)


def is_stream(path: Path) -> bool:
    """Whether this is a named pipe or a character device (`/dev/null`): written to, never replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def beside(path: Path, purpose: str) -> Path:
    """A hidden name of this process's own in the same folder, short whatever the path's name."""
    return path.with_name(f".speckv-debug.{os.getpid()}.{purpose}")


def swap_in(temporary: Path, path: Path) -> None:
    """Give a finished file or folder its name, in the place of whatever has it."""
    if not os.path.lexists(path):
        os.rename(temporary, path)
        return
    old = beside(path, "old")
    os.rename(path, old)
    os.rename(temporary, path)
    remove(old)


def remove(path: Path) -> None:
    """Remove a file, a link or a whole folder; one that is not there is fine."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def unwritable(path: Path, error: OSError) -> RecordingError:
    """What to tell people when an output can't be written."""
    what = f"{printable(str(path))} can't be written: {error.strerror or error}"
    return RecordingError(what, "Choose another place with -o.")


def sync(path: Path) -> None:
    """Have the device keep a file or a folder's entries (fsync)."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Replace a JSON file at once; not synced, so that an engine never waits for a disk."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(to_json(value), encoding="ascii")
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def create_json(path: Path, value: Mapping[str, Any]) -> bool:
    """Write a JSON file unless it exists; False if it does. Never leaves half a file under that name."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        temporary.write_text(to_json(value), encoding="ascii")
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    return True


def to_json(value: Mapping[str, Any]) -> str:
    """Indented ASCII JSON, keys in their order; what JSON lacks becomes a string."""
    return json.dumps(jsonable(value), indent=1, allow_nan=False) + "\n"


def jsonable(value: Any) -> Any:
    """`value` in JSON's own types: inf and nan as `"inf"`, `"-inf"`, `"nan"`, anything foreign as its text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value if type(value) in (bool, int, str, type(None)) else _plain(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else float_name(value)
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((jsonable(item) for item in value), key=str)
    if type(value).__module__ == "numpy":
        return jsonable(value.tolist())
    return str(value)


def _plain(value: Any) -> int | str:
    return str.__str__(value) if isinstance(value, str) else int(value)


def float_name(value: float) -> str:
    """The contract's string for a number that JSON lacks."""
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """One process at a time in here; a file system without locks lets everyone in."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
