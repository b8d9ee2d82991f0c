"""Judge a recording by the laws of KV-cache management under speculative decoding, and by replay.

Exit code 0: nothing found; 1: an error or a warning; 2: wrong usage or no recording; 3: nothing could be judged.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from speckv_debug.cli.hint import inspect_command
from speckv_debug.cli.opening import open_recording
from speckv_debug.cli.output import typed
from speckv_debug.cli.progress import ProgressBar
from speckv_debug.cli.replaying import add_replay_options
from speckv_debug.exit_codes import ExitCode
from speckv_debug.model.finding import CheckResult

if TYPE_CHECKING:
    from speckv_debug.recording.reader import Recording

EXAMPLES = """examples:
  speckv-debug check run.speckv
  speckv-debug check run.speckv --format json --rule MOV-PAIR --rule MOV-MISSING | jq .verdict"""

VERDICTS = {"clean": ExitCode.CLEAN, "findings": ExitCode.FINDINGS, "unknown": ExitCode.NOTHING_TO_JUDGE}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("recording", type=Path, metavar="RECORDING", help="recording to judge")
    parser.add_argument(
        "--format", choices=["text", "json"], default="text", help="form of the output [text]"
    )
    add = parser.add_argument
    add("--rule", action="append", default=[], metavar="ID", help="run this rule only; may be repeated [all]")
    add("--ignore", action="append", default=[], metavar="ID", help="leave this rule out; may be repeated")
    add_replay_options(parser)


def run(args: argparse.Namespace) -> int:
    """Open, judge, print."""
    from speckv_debug.checks.run import check
    from speckv_debug.checks.selection import select

    select(args.rule, args.ignore, args.replay)
    recording = open_recording(args.recording)
    on_error = _show_traceback if args.verbose else _say_nothing
    with ProgressBar("checking") as bar:
        result = check(
            recording,
            only=args.rule,
            ignore=args.ignore,
            replay=args.replay,
            device=args.device,
            on_error=on_error,
            on_progress=bar,
        )
    if args.format == "json":
        from speckv_debug.viewers.terminal import json

        json.render(result, sys.stdout)
    else:
        from speckv_debug.viewers.terminal import text

        text.render(result, recording, sys.stdout, verbose=args.verbose, color=_wants_color())
    _say_next(args.recording, recording, result)
    return VERDICTS[result.verdict]


def _wants_color() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _say_next(path: Path, recording: Recording, result: CheckResult) -> None:
    info = f"speckv-debug info {typed(path)}"
    command = info if result.verdict == "unknown" else inspect_command(path, recording, result)
    print(f"next: {command}", file=sys.stderr)


def _show_traceback(rule: str, error: Exception) -> None:
    print(f"speckv-debug: {rule} raised", file=sys.stderr)
    traceback.print_exception(error)


def _say_nothing(rule: str, error: Exception) -> None:
    """Without --verbose the reason stands among the unknowns."""
