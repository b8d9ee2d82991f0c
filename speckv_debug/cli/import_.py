"""Turn JSON Lines into a recording.

One JSON object a line; "event" names the table, a slot list may hold ranges such as "64:128", `seq` may be
left out. Plain, .gz, .xz and .zst are read; `-` reads standard input. Nothing is written if a line is wrong.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import BinaryIO

from speckv_debug.cli.output import add_output_options, claim, default_output
from speckv_debug.exit_codes import ExitCode
from speckv_debug.model.text import printable

EXAMPLES = """examples:
  speckv-debug import reproduction.jsonl -o reproduction.speckv
  xz -dc run.jsonl.xz | speckv-debug import - -o run.speckv"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("input", type=Path, metavar="FILE", help="JSON Lines file, or - for standard input")
    add_output_options(parser, default="the input's name with .speckv")


def run(args: argparse.Namespace) -> int:
    """Import, then say what was ignored."""
    from speckv_debug.recording.jsonl import import_jsonl

    piped = str(args.input) == "-"
    out = claim(args.output or default_output(args.input, ".speckv"), args.force, kind="folder")
    source: Path | BinaryIO = sys.stdin.buffer if piped else args.input
    summary = import_jsonl(source, out, replace=args.force)
    for remark in summary.remarks:
        print(f"speckv-debug: {printable(remark)}", file=sys.stderr)
    shown = printable(str(out))
    print(f"{shown}: {summary.events} events of {len(summary.processes)} process(es)", file=sys.stderr)
    print(f"next: speckv-debug check {shown}", file=sys.stderr)
    return ExitCode.CLEAN
