"""Write one HTML file about a recording: what is broken and since when, figures, environment.

It opens from disk without a network, in light and dark, and prints well."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from speckv_debug.cli.hint import inspect_command
from speckv_debug.cli.output import add_output_options, claim, default_output, typed
from speckv_debug.cli.policy import add_policy_options, policy_of
from speckv_debug.cli.replaying import add_replay_options
from speckv_debug.model.text import printable

if TYPE_CHECKING:
    from speckv_debug.model.finding import CheckResult
    from speckv_debug.recording.reader import Recording

EXAMPLES = """\
examples:
  speckv-debug report run.speckv
  speckv-debug report run.speckv -o incident-4711.html -f
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("recording", type=Path, metavar="RECORDING", help="the recording")
    add_output_options(parser, default="the recording's name with .html; - is standard output")
    add_replay_options(parser)
    add_policy_options(parser)


def run(args: argparse.Namespace) -> int:
    """Check the recording and write the report, whatever is found."""
    from speckv_debug.cli.opening import reading

    policy = policy_of(args)
    out = None if str(args.output) == "-" else _claimed(args)
    with reading(args.recording) as recording:
        judged = policy.judged(recording, replay=args.replay, device=args.device, on_error=_say_broken_rule)
        result = policy.without_known(judged, recording)
        if out is None:
            _render(recording, result, sys.stdout)
        else:
            write_report(recording, result, out)
    if out is not None:
        print(f"speckv-debug: wrote {typed(out)}", file=sys.stderr)
    print(f"next: {inspect_command(args.recording, recording, result)}", file=sys.stderr)
    return 0


def _claimed(args: argparse.Namespace) -> Path:
    path = args.output or default_output(args.recording, ".html")
    return claim(path, args.force, kind="file", input=args.recording)


def _render(recording: Recording, result: CheckResult, out: TextIO) -> None:
    from speckv_debug.checks import RULES
    from speckv_debug.viewers.html.page import render

    render(recording, result, out, laws=RULES)


def write_report(recording: Recording, result: CheckResult, out: Path) -> None:
    """Write the whole file or none; `out` is replaced if it exists, and written to if it is a pipe or device."""
    from speckv_debug.recording.atomic import is_stream, unwritable

    if is_stream(out):
        with out.open("w", encoding="utf-8", newline="\n") as file:
            _render(recording, result, file)
        return
    temporary = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            _render(recording, result, file)
        os.replace(temporary, out)
    except OSError as error:
        raise unwritable(out, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def _say_broken_rule(rule: str, error: Exception) -> None:
    words = f"speckv-debug: rule {rule} failed: {printable(str(error))}; its instances are unknown"
    print(words, file=sys.stderr)
