"""Parsing the command line, calling one command, and telling user mistakes."""

from __future__ import annotations

import argparse
import importlib
import re
import shutil
import sys
import textwrap
import traceback
from collections.abc import Sequence
from typing import NoReturn

from speckv_debug import __version__
from speckv_debug.cli.streams import give_up, mistake_of, ready_streams
from speckv_debug.errors import SpeckvError
from speckv_debug.exit_codes import ExitCode
from speckv_debug.model.labels import meant
from speckv_debug.model.text import printable

COMMANDS = {
    "record": "run a program and record what its engine does with KV",
    "doctor": "say whether a recording would come about, and what to do if not",
    "demo": "record the bundled reference engine and show what check finds",
    "check": "judge a recording by the laws",
    "inspect": "look at a recording in the terminal",
    "history": "say what happened to a slot, a page, a row or a request",
    "state": "say who holds the pages of every pool at a step",
    "report": "write one HTML file about a recording",
    "info": "say what a recording holds and what is missing",
    "import": "turn JSON Lines into a recording",
    "export": "turn a recording into JSON Lines",
    "rules": "list the rules",
    "explain": "explain a rule",
}
MODULES = {"import": "import_"}
NO_ARGUMENT = re.compile(r"argument (?:-\w/|-\w, )?(--[\w-]+): expected one argument$")
UNKNOWN_COMMAND = re.compile(r"argument COMMAND: invalid choice: '(.*)' \(choose from ")


class Parser(argparse.ArgumentParser):
    """A parser that shows a wrong argument with its control characters escaped."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, what was perhaps meant by a command that does not exist, and end with code 2."""
        if word := UNKNOWN_COMMAND.match(message):
            message = (
                f"there is no command {word[1]!r}. {meant(word[1], COMMANDS)}Known: {', '.join(COMMANDS)}."
            )
        if word := NO_ARGUMENT.match(message):
            message += f"; one that begins with a dash is written {word[1]}=-x"
        super().error(printable(message))


def run_command(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; user mistakes are printed without a traceback.

    Raises:
        KeyboardInterrupt: Ctrl-C ended it.
    """
    ready_streams()
    args = _parsed(argv)
    try:
        code = int(args.run(args))
        sys.stdout.flush()
        return code
    except SpeckvError as error:
        return _complain(error, error, verbose=args.verbose)
    except BrokenPipeError:  # whoever reads it has seen enough
        give_up(sys.stdout)
        return int(args.code)
    except OSError as error:
        return _complain(mistake_of(error), error, verbose=args.verbose)


def _complain(mistake: SpeckvError, cause: Exception, *, verbose: bool) -> int:
    if verbose:
        traceback.print_exception(cause)
    print(f"speckv-debug: {printable(mistake.what)}", file=sys.stderr)
    if mistake.remedy:
        print(f"  {printable(mistake.remedy)}", file=sys.stderr)
    return mistake.exit_code


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments; what is left over is the mistake of the command that was chosen, so its usage is shown."""
    args, left = _parser().parse_known_args(argv)
    if left:
        args.parser.error(f"unrecognized arguments: {' '.join(left)}")
    return args


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="speckv-debug",
        description="Trace-driven debugger for KV-cache management under speculative decoding.",
    )
    parser.add_argument("--version", action="version", version=f"speckv-debug {__version__}")
    parser.set_defaults(
        run=lambda args: _print_help(parser), parser=parser, verbose=False, code=ExitCode.CLEAN
    )
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for name, help_ in COMMANDS.items():
        _add_command(commands, name, help_)
    return parser


def _add_command(commands: argparse._SubParsersAction[Parser], name: str, help_: str) -> None:
    module = importlib.import_module(f"speckv_debug.cli.{MODULES.get(name, name)}")
    parser = commands.add_parser(
        name,
        help=help_,
        description=_wrapped(module.__doc__ or ""),
        epilog=module.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--verbose", action="store_true", help="show tracebacks and details")
    module.configure(parser)
    parser.set_defaults(run=module.run, parser=parser)


def _wrapped(text: str) -> str:
    """Paragraphs that fit the terminal as argparse's own lines do; examples stay as they are."""
    width = max(20, shutil.get_terminal_size().columns - 2)
    return "\n\n".join(textwrap.fill(each, width) for each in text.split("\n\n"))


def _print_help(parser: argparse.ArgumentParser) -> int:
    parser.print_help(sys.stderr)
    return ExitCode.USAGE
