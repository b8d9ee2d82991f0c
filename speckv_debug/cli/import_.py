"""Turn JSON Lines into a recording.

One JSON object a line; "event" names the table, a slot list may hold ranges such as "64:128", `seq` may be
left out. Plain, .gz, .xz and .zst are read; `-` reads standard input. Nothing is written if a line is wrong.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import BinaryIO, NoReturn

from speckv_debug.cli.output import add_output_options, claim, default_output, is_recording, typed
from speckv_debug.errors import UsageError
from speckv_debug.exit_codes import ExitCode
from speckv_debug.model.text import amount, printable

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
    if args.input.is_dir():
        _refuse_folder(args.input)
    path, read = args.output or default_output(args.input, ".speckv"), None if piped else args.input
    out = claim(path, args.force, kind="folder", input=read)
    source: Path | BinaryIO = sys.stdin.buffer if piped else args.input
    summary = import_jsonl(source, out, replace=args.force)
    for remark in summary.remarks:
        print(f"speckv-debug: {printable(remark)}", file=sys.stderr)
    print(
        f"{typed(out)}: {amount(summary.events, 'event')} of {amount(len(summary.processes), 'process', 'processes')}",
        file=sys.stderr,
    )
    print(f"next: speckv-debug check {typed(out)}", file=sys.stderr)
    return ExitCode.CLEAN


def _refuse_folder(input: Path) -> NoReturn:
    shown = typed(input)
    if is_recording(input):
        raise UsageError(f"{shown} is a recording already", f"Judge it: speckv-debug check {shown}")
    raise UsageError(f"{shown} is a folder", "Give a file in JSON Lines form.")
