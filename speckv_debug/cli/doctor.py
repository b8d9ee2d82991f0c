"""Say whether a recording would come about: plugin, allow-list, hooks, output folder, room; each with its remedy.

Nothing is started and the engine is not imported. The exit code is 1 if something would keep the recording away.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from speckv_debug.cli.choosing import add_format_options
from speckv_debug.exit_codes import ExitCode
from speckv_debug.model.text import printable

if TYPE_CHECKING:
    from speckv_debug.cli.diagnosis import Line

EXAMPLES = """\
examples:
  speckv-debug doctor
  speckv-debug doctor -o /data/run.speckv -- python -m sglang.launch_server --model-path MODEL
"""
MARKS = {"ok": "✓", "wrong": "✗", "unknown": "?"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.usage = "speckv-debug doctor [-o PATH] [--format text|json | --json] [-- COMMAND ...]"
    parser.add_argument(
        "-o", "--output", type=Path, metavar="PATH", help="where the recording would go [current folder]"
    )
    add_format_options(parser)
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the target, which is not started"
    )


def run(args: argparse.Namespace) -> int:
    """Look, print, and say by the exit code whether something is wrong."""
    from speckv_debug.cli.diagnosis import diagnose

    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    out = args.output or Path(os.environ.get("SPECKV_DEBUG_OUT") or ".")
    lines = list(diagnose(command, os.environ, out, new=args.output is not None))
    args.code = _code(lines)
    if args.format == "json":
        print(json.dumps([asdict(line) for line in lines], indent=2))
    else:
        sys.stdout.write("".join(_shown(line) for line in lines))
    if args.code == ExitCode.CLEAN:
        print("next: speckv-debug record -- COMMAND", file=sys.stderr)
    return int(args.code)


def _shown(line: Line) -> str:
    text = f"{MARKS[line.state]} {line.name:<11}{printable(line.fact)}\n"
    return text + (f"{'':13}→ {printable(line.remedy)}\n" if line.remedy else "")


def _code(lines: Sequence[Line]) -> ExitCode:
    states = {line.state for line in lines}
    if "wrong" in states:
        return ExitCode.FINDINGS
    return ExitCode.NOTHING_TO_JUDGE if lines[0].state == "unknown" else ExitCode.CLEAN
