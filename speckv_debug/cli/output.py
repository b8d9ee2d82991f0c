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

Kind = Literal["file", "folder"]
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
    """A path as one types it in a shell, safe to print."""
    return printable(shlex.quote(str(path)))


def claim(path: Path, force: bool, *, kind: Kind | None = None, input: Path | None = None) -> Path:
    """`path`, if it may be written; nothing is touched yet.

    Args:
        path: The output.
        force: Whether one that exists may be replaced.
        kind: What will be written; with `force`, a folder never gives way to a file or a file to a folder.
        input: What is read meanwhile, so must not be replaced.

    Raises:
        UsageError: It exists and `force` is off, it is something else than the command writes, or there is
            no folder to put it in.
    """
    shown = printable(str(path))
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{shown}: the folder it should go to does not exist", "Make the folder first.")
    if not os.path.lexists(path):
        return path
    if not force:
        raise UsageError(f"{shown} exists", "Choose another name with -o, or add -f to replace it.")
    if wrong := _irreplaceable(path, kind, input):
        raise UsageError(f"{shown} is {wrong}", "Choose another name with -o, or remove it yourself.")
    return path


def _irreplaceable(path: Path, kind: Kind | None, input: Path | None) -> str:
    if input is not None and path.exists() and input.exists() and path.samefile(input):
        return "the input itself"
    if path.is_dir() and not path.is_symlink():
        if kind == "file":
            return "a folder, and a file would take its place"
        return "" if _is_ours(path) else "a folder and no recording"
    return "a file, and a folder would take its place" if kind == "folder" and path.is_file() else ""


def clear(path: Path) -> None:
    """Remove what `claim` allowed to replace; call it when the new output is about to take its place."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _is_ours(folder: Path) -> bool:
    """A recording, whole or damaged, or an empty folder; other programs have a manifest.json, too."""
    try:
        known = b'"format_version"' in (folder / "manifest.json").read_bytes()
    except OSError:
        known = False
    return known or any(folder.glob("*/process.json")) or not any(folder.iterdir())
