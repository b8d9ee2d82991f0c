"""Say what a recording holds: engine, ranks, pools, settings, tables, steps, requests, and what is missing.

Every part file is read once, so damage anywhere is named. The recording is not changed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from speckv_debug.cli.choosing import add_format_options
from speckv_debug.cli.output import typed
from speckv_debug.exit_codes import ExitCode

EXAMPLES = """examples:
  speckv-debug info run.speckv
  speckv-debug info run.speckv --format json | jq '.processes[0].tables'"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("recording", type=Path, metavar="RECORDING", help="recording to describe")
    add_format_options(parser)


def run(args: argparse.Namespace) -> int:
    """Summarise and print."""
    from speckv_debug.recording.reader import Recording
    from speckv_debug.recording.summary import summarize
    from speckv_debug.viewers.terminal.info import render_json, render_text

    summary = summarize(Recording.open(args.recording))
    render = render_json if args.format == "json" else render_text
    render(summary, sys.stdout)
    print(f"next: speckv-debug check {typed(args.recording)}", file=sys.stderr)
    return ExitCode.CLEAN
