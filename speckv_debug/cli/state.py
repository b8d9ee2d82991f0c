"""Say who holds the pages of every pool at a step: requests, prefix tree, sessions, transfers, nobody.

The state is that after the last event that names the step. Exit code 0: answered; 2: wrong usage, no recording or no such
step; 3: the pages of no pool can be followed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from speckv_debug.cli.choosing import add_answer_options, processes_of, say_which
from speckv_debug.cli.opening import look_at_all, reading
from speckv_debug.cli.output import typed
from speckv_debug.cli.progress import ProgressBar
from speckv_debug.errors import UsageError
from speckv_debug.exit_codes import ExitCode

if TYPE_CHECKING:
    from speckv_debug.recording.reader import ProcessRecording

EXAMPLES = """examples:
  speckv-debug state run.speckv --at 812
  speckv-debug state run.speckv --at 812 --json | jq '.pools[0].pages'"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("recording", type=Path, metavar="RECORDING", help="recording to replay")
    parser.add_argument(
        "--at", type=int, required=True, metavar="STEP", help="after this engine step's last event"
    )
    add_answer_options(parser)


def run(args: argparse.Namespace) -> int:
    """Replay up to the step and print."""
    from speckv_debug.replay.snapshots import snapshot
    from speckv_debug.replay.timeline import ledger_at

    with reading(args.recording) as recording:
        process, seq = _place(processes_of(recording, args.process), args.at)
        with ProgressBar("replaying") as bar:
            found = snapshot(process, seq, step=args.at, ledger=ledger_at(process, seq, bar))
            look_at_all(process)
    if args.format == "json":
        from speckv_debug.viewers.terminal import state_json

        state_json.render(found, sys.stdout)
    else:
        from speckv_debug.viewers.terminal import state

        state.render(found, sys.stdout, verbose=args.verbose)
    print(f"next: speckv-debug history {typed(args.recording)} --page N", file=sys.stderr)
    return ExitCode.CLEAN if found.pools else ExitCode.NOTHING_TO_JUDGE


def _place(processes: tuple[ProcessRecording, ...], step: int) -> tuple[ProcessRecording, int]:
    """The first process with the step, and the step's last event.

    Raises:
        UsageError: None has it; names the nearest.
    """
    from speckv_debug.replay.timeline import last_event_of, nearest_steps

    for process in processes:
        if (seq := last_event_of(process, step)) is not None:
            say_which(processes, process)
            return process, seq
    near = sorted({known for process in processes for known in nearest_steps(process, step)})
    closest = " and ".join(map(str, sorted(near, key=lambda known: abs(known - step))[:2]))
    raise UsageError(
        f"no event names step {step}", f"The nearest: {closest}." if near else "No event names a step."
    )
