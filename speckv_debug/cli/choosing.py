"""Which process of a recording a command is about, and the form in which it answers."""

from __future__ import annotations

import argparse
import difflib
from typing import TYPE_CHECKING

from speckv_debug.errors import UsageError
from speckv_debug.model.text import printable

if TYPE_CHECKING:
    from speckv_debug.recording.reader import ProcessRecording, Recording

SHOWN = 5
"""How many labels, steps or requests a message names."""


def add_answer_options(parser: argparse.ArgumentParser) -> None:
    """Add `--process`, `--format` and `--json`."""
    add = parser.add_argument
    add(
        "--process", metavar="LABEL", help="of this process, its label or how that begins [the first with it]"
    )
    add("--format", choices=["text", "json"], default="text", help="form of the output [text]")
    add("--json", dest="format", action="store_const", const="json", help="the same as --format json")


def processes_of(recording: Recording, label: str | None) -> tuple[ProcessRecording, ...]:
    """All processes, or the one whose label is `label` or begins with it.

    Raises:
        UsageError: No process, or more than one, answers to `label`.
    """
    if label is None:
        return recording.processes
    labels = [process.label for process in recording.processes]
    found = [label] if label in labels else [known for known in labels if known.startswith(label)]
    if len(found) == 1:
        return tuple(process for process in recording.processes if process.label == found[0])
    what = "is the beginning of several processes" if found else "is no process of this recording"
    near = found or difflib.get_close_matches(label, labels, n=SHOWN, cutoff=0.0)
    raise UsageError(f"{printable(label)} {what}", f"Known: {some(near)}.")


def some(names: list[str]) -> str:
    """A few names, escaped, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(printable(name) for name in names[:SHOWN]) + more
