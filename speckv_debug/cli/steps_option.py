"""The option that says which steps a report embeds, and what is said where it can't be had."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from speckv_debug.model.text import printable

if TYPE_CHECKING:
    from speckv_debug.recording.reader import Recording


def add_steps_option(parser: argparse.ArgumentParser) -> None:
    """Add `--steps A:B`."""
    parser.add_argument(
        "--steps",
        type=_steps,
        metavar="A:B",
        help="embed steps A to B of each process [those around the findings]",
    )


def say_steps(asked: tuple[int, int] | None, recording: Recording, *, embeds: bool) -> None:
    """Say on stderr why steps that were asked for are not in the report.

    Args:
        asked: The first and the last one, both included.
        recording: Where they should be.
        embeds: Whether this form of the report embeds steps at all.
    """
    if asked is None:
        return
    from speckv_debug.replay.steps import steps_with_verifies

    known = steps_with_verifies(recording.processes)
    if not ((known >= asked[0]) & (known <= asked[1])).any():
        there = f"verifies are at steps {known[0]} to {known[-1]}" if len(known) else "no verify was recorded"
        _say(asked, f"none of these steps has a verify; {there}")
    if not embeds:
        _say(asked, "Markdown embeds no steps; --format html does")


def _say(asked: tuple[int, int], why: str) -> None:
    print(f"speckv-debug: --steps {asked[0]}:{asked[1]}: {why}", file=sys.stderr)


def _steps(text: str) -> tuple[int, int]:
    """`A:B`, both included; one number for one step."""
    first, colon, last = text.partition(":")
    try:
        found = int(first), int(last if colon else first)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{printable(text)} is no A:B of two steps, such as 810:814"
        ) from None
    if found[0] > found[1]:
        raise argparse.ArgumentTypeError(f"{printable(text)} ends before it begins")
    return found
