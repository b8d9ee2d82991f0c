"""What every writing command does with its output: default name, -o, -f, what may be overwritten."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
from pathlib import Path
from typing import Literal

from speckv_debug.errors import UsageError
from speckv_debug.model.text import printable
from speckv_debug.recording.atomic import is_stream

Kind = Literal["file", "folder"]
NOBODYS = (".speckv-debug.", ".nfs", ".DS_Store")
"""How names begin that a recorder or a file system leaves behind in a recording."""
INPUT_SUFFIXES = (".gz", ".xz", ".zst", ".jsonl", ".json", ".speckv")


def add_output_options(
    parser: argparse.ArgumentParser, *, default: str = "the input's name, new suffix"
) -> None:
    """Add `-o/--output` and `-f/--force`; `default` is what the help says of a missing -o."""
    parser.add_argument("-o", "--output", type=Path, metavar="PATH", help=f"where to write [{default}]")
    parser.add_argument("-f", "--force", action="store_true", help="replace an output that exists")


def default_output(input: Path, suffix: str) -> Path:
    """The input's stem with the new suffix, beside the input: `a/x.jsonl.xz` → `a/x.speckv`."""
    if str(input) == "-":
        raise UsageError("the input is a pipe, so the output has no name", f"Name it: -o NAME{suffix}")
    stem = Path(os.path.abspath(input)).name
    for known in INPUT_SUFFIXES:
        stem = stem.removesuffix(known) or stem
    return input.with_name(stem + suffix) if input.name else Path("..") / (stem + suffix)


def typed(path: Path) -> str:
    """A path as one types it in a shell, safe to print; one that looks like an option begins with `./`."""
    text = f"./{path}" if str(path).startswith("-") else str(path)
    return shlex.quote(text) if text.isprintable() else f"$'{''.join(map(_escaped, text))}'"


def _escaped(char: str) -> str:
    """A character inside the shell's `$'...'`: the bytes of what is not plainly visible in hexadecimal."""
    if char in "'\\":
        return f"\\{char}"
    if char.isprintable():
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))


def claim(
    path: Path, force: bool, *, kind: Kind | None = None, input: Path | None = None, option: str = "-o"
) -> Path:
    """Where to write, if it may be written: `path`, or what it is a link to; nothing is touched yet.

    Args:
        path: The output.
        force: Whether one that exists may be replaced.
        kind: What will be written; with `force`, a folder never gives way to a file or a file to a folder.
        input: What is read meanwhile, so must not be replaced.
        option: How the command names its output.

    Raises:
        UsageError: It exists and `force` is off, it is something else than the command writes, it lies in
            a recording, or there is no folder to put it in.
    """
    shown = printable(str(path))
    if kind == "file" and is_stream(path):
        return path
    given, path = path, Path(os.path.realpath(path)) if os.path.islink(path) else path
    if holder := _recording_around(path, input):
        what = f"{shown} lies inside the recording {printable(str(holder))}"
        raise UsageError(what, f"Choose a place outside it with {option}.")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{shown}: the folder it should go to does not exist", "Make the folder first.")
    if not os.path.lexists(given):
        return path
    if wrong := _irreplaceable(path, kind, input):
        raise UsageError(f"{shown} is {wrong}", f"Choose another name with {option}.")
    if not force:
        raise UsageError(f"{shown} exists", f"Choose another name with {option}, or add -f to replace it.")
    return path


def _irreplaceable(path: Path, kind: Kind | None, input: Path | None) -> str:
    if input is not None and path.exists() and input.exists() and path.samefile(input):
        return "the input itself"
    if input is not None and path.resolve() in input.resolve().parents:
        return "the folder that holds the input"
    if path.is_dir() and not path.is_symlink():
        if kind == "file":
            return "a folder, and a file would take its place"
        if not _is_ours(path):
            return "a folder and no recording"
        other = _other_in(path)
        return f"a recording in which something else lies ({printable(other)})" if other else ""
    if path.exists() and not path.is_file():
        return "no file that can be replaced"
    return "a file, and a folder would take its place" if kind == "folder" and path.is_file() else ""


def _recording_around(path: Path, input: Path | None) -> Path | None:
    """The recording that `path` would be inside of: the input, or any folder with a recording's manifest."""
    read = input.resolve() if input is not None else None
    return next((each for each in path.resolve().parents if each == read or _has_manifest(each)), None)


def clear(path: Path) -> None:
    """Remove what `claim` allowed to replace; call it when the new output is about to take its place."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _is_ours(folder: Path) -> bool:
    """A recording or an empty folder."""
    return is_recording(folder) or not any(folder.iterdir())


def _other_in(folder: Path) -> str | None:
    """Name of something in a recording's folder that is no part of a recording: somebody put it there."""
    from speckv_debug.recording.reader import is_process

    for path in sorted(folder.iterdir()):
        if (
            not path.name.startswith(NOBODYS)
            and path.name != "manifest.json"
            and not (path.is_dir() and is_process(path))
        ):
            return path.name
    return None


def is_recording(folder: Path) -> bool:
    """Whether this is a recording, whole or damaged; other programs have a manifest.json, too."""
    return _has_manifest(folder) or any(folder.glob("*/process.json"))


def _has_manifest(folder: Path) -> bool:
    try:
        return b'"format_version"' in (folder / "manifest.json").read_bytes()
    except OSError:
        return False
