"""The command line: parses, calls one command, prints. Every command is a module of this package."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code, 130 if Ctrl-C ended it.

    Everything that takes time to import is imported inside the `try`, so that Ctrl-C shows no traceback then either; it waits
    for the import to end, as C code that is interrupted in its middle may abort.
    """
    try:
        from speckv_debug.cli.patience import PatientInterrupts

        with PatientInterrupts():
            from speckv_debug.cli.program import run_command

            return run_command(argv)
    except KeyboardInterrupt:
        return _interrupted()


def _interrupted() -> int:
    from speckv_debug.cli.patience import LINE
    from speckv_debug.exit_codes import ExitCode

    if sys.stderr is not None:
        print(LINE, file=sys.stderr)
    return ExitCode.INTERRUPTED
