"""Turn a recording into JSON Lines, without loss.

The form in which a small reproduction is attached to a bug report: one event a line, in order, long runs of
slots as ranges. `import` makes the same recording of it. An output named .gz, .xz or .zst is compressed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from speckv_debug.cli.opening import reading
from speckv_debug.cli.output import add_output_options, claim, typed
from speckv_debug.exit_codes import ExitCode
from speckv_debug.model.text import amount, printable

if TYPE_CHECKING:
    from speckv_debug.recording.reader import Recording

EXAMPLES = """examples:
  speckv-debug export run.speckv | head -n 20
  speckv-debug export run.speckv --format jsonl -o run.jsonl.xz"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("recording", type=Path, metavar="RECORDING", help="recording to export")
    parser.add_argument("--format", choices=["jsonl"], default="jsonl", help="form of the output [jsonl]")
    add_output_options(parser, default="standard output")


def run(args: argparse.Namespace) -> int:
    """Export to a file or to standard output."""
    from speckv_debug.recording.jsonl import export_jsonl

    to_stdout = args.output is None or str(args.output) == "-"
    out = None if to_stdout else claim(args.output, args.force, kind="file", input=args.recording)
    with reading(args.recording) as recording:
        events = export_jsonl(recording, out or sys.stdout)
    _say_withdrawn(recording)
    print(
        f"{amount(events, 'event')} of {amount(len(recording.processes), 'process', 'processes')} exported",
        file=sys.stderr,
    )
    if out is not None:
        print(f"next: speckv-debug import {typed(out)}", file=sys.stderr)
    return ExitCode.CLEAN


def _say_withdrawn(recording: Recording) -> None:
    """Name the tables that the export does not call recorded whole any more."""
    from speckv_debug.recording.loss import undamaged

    for process in recording.processes:
        whole = undamaged(process)
        names = [name for name in process.info.tables if name not in whole]
        if names:
            what = f"{process.label}: the export does not list as recorded whole: {', '.join(names)}"
            print(f"speckv-debug: {printable(what)}", file=sys.stderr)
