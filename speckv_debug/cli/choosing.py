"""Which process of a recording a command is about, and the form in which it answers."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from speckv_debug.model.labels import process_meant
from speckv_debug.model.text import printable

if TYPE_CHECKING:
    from speckv_debug.recording.reader import ProcessRecording, Recording


def add_answer_options(parser: argparse.ArgumentParser) -> None:
    """Add `--process`, `--format` and `--json`."""
    parser.add_argument(
        "--process", metavar="LABEL", help="of this process, its label or how that begins [the first with it]"
    )
    add_format_options(parser)


def add_format_options(parser: argparse.ArgumentParser) -> None:
    """Add `--format` and `--json`."""
    add = parser.add_argument
    add("--format", choices=["text", "json"], default="text", help="form of the output [text]")
    add("--json", dest="format", action="store_const", const="json", help="the same as --format json")


def processes_of(recording: Recording, label: str | None) -> tuple[ProcessRecording, ...]:
    """All processes, or the one whose label is `label` or begins with it.

    Raises:
        UsageError: No process, or more than one, answers to `label`.
    """
    if label is None:
        return recording.processes
    meant = process_meant(label, [process.label for process in recording.processes])
    return tuple(process for process in recording.processes if process.label == meant)


def say_which(processes: tuple[ProcessRecording, ...], chosen: ProcessRecording) -> None:
    """Name the process that answers on stderr, where there are several."""
    if len(processes) > 1:
        others = len(processes) - 1
        which = "the other" if others == 1 else f"one of the {others} others"
        told = f"of {printable(chosen.label)}; --process asks {which}"
        print(f"speckv-debug: {told}", file=sys.stderr)
