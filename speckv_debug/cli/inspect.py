"""Look at a recording in the terminal: the findings, the list of verify steps, one step drawn.

The laws are judged while one already looks around. q quits, f1 lists the keys.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from speckv_debug.cli.output import typed
from speckv_debug.cli.patience import usual_interrupts
from speckv_debug.cli.policy import add_policy_options, policy_of
from speckv_debug.errors import UsageError
from speckv_debug.exit_codes import ExitCode

if TYPE_CHECKING:
    from speckv_debug.cli.policy import Policy
    from speckv_debug.model.finding import CheckResult
    from speckv_debug.recording.reader import Recording
    from speckv_debug.viewers.tui.inspection import Inspection

EXAMPLES = """examples:
  speckv-debug inspect run.speckv
  speckv-debug inspect run.speckv --at 812 --request 7
  speckv-debug inspect run.speckv --follow"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("recording", type=Path, metavar="RECORDING", help="folder that record or import made")
    parser.add_argument("--at", type=int, metavar="STEP", help="open the verify of this engine step")
    parser.add_argument(
        "--request", metavar="ID", help="open a verify of this request [at STEP, or its first]"
    )
    parser.add_argument(
        "--process",
        metavar="LABEL",
        help="look at this process, its label or how that begins [the first with it]",
    )
    parser.add_argument(
        "--follow", action="store_true", help="go on looking while the recording is still being written"
    )
    add_policy_options(parser)


def run(args: argparse.Namespace) -> int:
    """Show the recording until the person quits."""
    shown = typed(args.recording)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "inspect needs a terminal on stdin and stdout",
            f"Without one: speckv-debug check {shown}, or speckv-debug report {shown}",
        )
    if os.environ.get("TERM", "") in ("", "dumb"):
        raise UsageError(
            "inspect can't draw on this terminal (TERM is dumb or not set)",
            f"Set TERM, such as xterm-256color; without: speckv-debug check {shown}",
        )
    from speckv_debug.viewers.tui.app import InspectorApp
    from speckv_debug.viewers.tui.places import start_place

    policy = policy_of(args)
    inspection = inspection_at(args.recording, policy)
    if args.follow and not inspection.ended:
        inspection = replace(inspection, reopen=partial(_again, args.recording, policy))
    place = start_place(inspection, step=args.at, request=args.request, process=args.process)
    app = InspectorApp(inspection, place)
    usual_interrupts()
    app.run()
    app.inspection.stop()
    print(f"next: speckv-debug report {shown}", file=sys.stderr)
    return _leave(app.return_code or ExitCode.CLEAN)


def _again(path: Path, policy: Policy) -> Inspection:
    """The same recording, as long as it is now; its problems are told on the screen."""
    from speckv_debug.recording.reader import Recording

    return replace(
        _inspection(Recording.open(path), policy, again=True), reopen=partial(_again, path, policy)
    )


def _leave(code: int) -> int:
    """The exit code; while a thread still reads the process ends with it here and now.

    The thread would ask for the interpreter's lock while the interpreter ends, and be unwound through compiled code,
    which aborts the process.
    """
    from speckv_debug.viewers.tui.checking import is_running

    if is_running():
        sys.stderr.flush()
        sys.stdout.flush()
        os._exit(code)
    return code


class Judge:
    """Judges a recording as a policy wants it; made in a process of its own."""

    def __init__(self, path: Path, policy: Policy) -> None:
        from speckv_debug.recording.reader import Recording

        self._recording, self._policy = Recording.open(path), policy

    def check(self, told: Callable[[float | CheckResult], None]) -> CheckResult:
        """All findings; `told` gets the share that is done, and what the laws found before replay begins."""
        found = self._policy.judged(
            self._recording,
            on_progress=told,
            on_laws=lambda so_far: told(self._policy.without_known(so_far, self._recording)),
        )
        return self._policy.without_known(found, self._recording)


def inspection_at(path: Path, policy: Policy) -> Inspection:
    """A recording to look at, with what was wrong with it on stderr.

    Raises:
        RecordingError: There is no recording, or a newer version wrote it.
    """
    from speckv_debug.cli.opening import open_recording

    return _inspection(open_recording(path), policy)


def _inspection(recording: Recording, policy: Policy, *, again: bool = False) -> Inspection:
    from speckv_debug.checks import RULES
    from speckv_debug.viewers.tui.apart import Apart
    from speckv_debug.viewers.tui.inspection import Law
    from speckv_debug.viewers.tui.recorded import BESIDE, inspection_of

    laws = {rule.id: Law(rule.law, rule.look_at) for rule in RULES.values()}
    judge = Apart(partial(Judge, recording.path, policy), nice=BESIDE)
    return inspection_of(
        recording,
        lambda told: judge.call("check", on_told=told),
        laws,
        stop_check=judge.close,
        give_up_check=judge.cancel,
        again=again,
    )
