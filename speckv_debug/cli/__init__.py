"""The command line: parses, calls one command, prints. Every command is a module of this package."""

from __future__ import annotations

import argparse
import importlib
import sys
import traceback
from collections.abc import Sequence

from speckv_debug import __version__
from speckv_debug.errors import SpeckvError
from speckv_debug.exit_codes import ExitCode

COMMANDS = {
    "record": "run a program and record what its engine does with KV",
    "demo": "record the bundled reference engine and show what check finds",
    "check": "judge a recording by the laws",
    "inspect": "look at a recording in the terminal",
    "report": "write one HTML file about a recording",
    "info": "say what a recording holds and what is missing",
    "import": "turn JSON Lines into a recording",
    "export": "turn a recording into JSON Lines",
    "rules": "list the rules",
    "explain": "explain a rule",
}
MODULES = {"import": "import_"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; user mistakes are printed without a traceback."""
    args = _parser(argv).parse_args(argv)
    try:
        return int(args.run(args))
    except SpeckvError as error:
        return _complain(error, verbose=args.verbose)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return ExitCode.CLEAN


def _complain(error: SpeckvError, *, verbose: bool) -> int:
    if verbose:
        traceback.print_exception(error)
    print(f"speckv-debug: {error.what}", file=sys.stderr)
    if error.remedy:
        print(f"  {error.remedy}", file=sys.stderr)
    return error.exit_code


def _parser(argv: Sequence[str] | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="speckv-debug",
        description="Trace-driven debugger for KV-cache management under speculative decoding.",
    )
    parser.add_argument("--version", action="version", version=f"speckv-debug {__version__}")
    parser.set_defaults(run=lambda args: _print_help(parser), verbose=False)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for name, help_ in COMMANDS.items():
        _add_command(commands, name, help_)
    return parser


def _add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, help_: str
) -> None:
    module = importlib.import_module(f"speckv_debug.cli.{MODULES.get(name, name)}")
    parser = commands.add_parser(
        name,
        help=help_,
        description=module.__doc__,
        epilog=module.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--verbose", action="store_true", help="show tracebacks and details")
    module.configure(parser)
    parser.set_defaults(run=module.run)


def _print_help(parser: argparse.ArgumentParser) -> int:
    parser.print_help(sys.stderr)
    return ExitCode.USAGE
