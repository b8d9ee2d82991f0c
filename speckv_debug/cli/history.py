"""Say what happened to a slot, a page, a request row or a request, event by event, with step and call site.

Exit code 0: answered; 2: wrong usage or no recording; 3: no event of the recording is about it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from speckv_debug.cli.choosing import add_answer_options, processes_of, say_which
from speckv_debug.cli.opening import look_at_all, reading
from speckv_debug.cli.output import typed
from speckv_debug.cli.progress import ProgressBar
from speckv_debug.errors import UsageError
from speckv_debug.exit_codes import ExitCode
from speckv_debug.model.labels import nearest, some
from speckv_debug.model.text import storable

if TYPE_CHECKING:
    from speckv_debug.recording.reader import ProcessRecording
    from speckv_debug.replay.request_life import RequestLife, RowHistory
    from speckv_debug.replay.slot_history import SlotHistory

    Answer = SlotHistory | RowHistory | RequestLife

EXAMPLES = """examples:
  speckv-debug history run.speckv --slot 42082
  speckv-debug history run.speckv --page 328 --pool swa --json | jq '.events[] | select(.event == "free")'
  speckv-debug history run.speckv --request 7"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("recording", type=Path, metavar="RECORDING", help="recording to search")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--slot", type=int, metavar="N", help="every owner, writer, mover and free of this slot"
    )
    what.add_argument("--page", type=int, metavar="N", help="the same of all slots of this page")
    what.add_argument("--row", type=int, metavar="N", help="the epochs of this request row")
    what.add_argument("--request", metavar="ID", help="the life of this request")
    parser.add_argument("--pool", metavar="NAME", help="whose slots and pages are meant [the main pool]")
    add_answer_options(parser)


def run(args: argparse.Namespace) -> int:
    """Search and print."""
    if args.pool is not None and args.slot is None and args.page is None:
        raise UsageError(
            "--pool belongs to --slot and --page", "Leave it out: rows and requests have one main pool."
        )
    if args.request is not None and not storable(args.request):
        raise UsageError(
            "--request is no UTF-8", "Texts of a recording are; copy the name from what `info` shows."
        )
    with reading(args.recording) as recording, ProgressBar("searching") as bar:
        process, answer = _first(processes_of(recording, args.process), _question(args, bar))
        look_at_all(process)
    if args.format == "json":
        from speckv_debug.viewers.terminal import history_json

        history_json.render(answer, process, sys.stdout)
    else:
        from speckv_debug.viewers.terminal import history

        history.render(answer, process, sys.stdout)
    if not _told(answer):
        _say_known(args, process)
    steps = [event.step for event in getattr(answer, "events", ()) if event.step is not None]
    at = f"state {typed(args.recording)} --at {steps[-1]}" if steps else f"info {typed(args.recording)}"
    print(f"next: speckv-debug {at}", file=sys.stderr)
    return ExitCode.CLEAN if _told(answer) else ExitCode.NOTHING_TO_JUDGE


def _say_known(args: argparse.Namespace, process: ProcessRecording) -> None:
    """What there is instead of the request or row that no event names."""
    from speckv_debug.replay.lives_named import known_requests, known_rows

    if args.request is not None:
        near = some(nearest(args.request, known_requests(process)))
        print(f"speckv-debug: no event names this request; nearest known: {near}", file=sys.stderr)
    elif args.row is not None:
        rows = sorted(known_rows(process), key=lambda row: abs(row - args.row))
        print(
            f"speckv-debug: no event names this row; nearest known: {some(map(str, rows))}", file=sys.stderr
        )


def _question(args: argparse.Namespace, bar: ProgressBar) -> Callable[[ProcessRecording], Answer]:
    from speckv_debug.replay.request_life import request_life, row_history
    from speckv_debug.replay.slot_history import slot_history

    if args.request is not None:
        return lambda process: request_life(process, args.request)
    if args.row is not None:
        return lambda process: row_history(process, args.row)
    return lambda process: slot_history(
        process, slot=args.slot, page=args.page, pool=args.pool, on_progress=bar
    )


def _first(
    processes: tuple[ProcessRecording, ...], ask: Callable[[ProcessRecording], Answer]
) -> tuple[ProcessRecording, Answer]:
    """The first process that has an answer, or else what the first one says; the others are named on stderr."""
    answers, refused = [], list[UsageError]()
    for process in processes:
        try:
            answers.append((process, ask(process)))
        except UsageError as error:  # another process may have the pool
            refused.append(error)
            continue
        if _told(answers[-1][1]):
            break
    if not answers:
        raise refused[0]
    chosen = answers[-1] if _told(answers[-1][1]) else answers[0]
    say_which(processes, chosen[0])
    return chosen


def _told(answer: Answer) -> bool:
    """Whether any event is about it."""
    return bool(getattr(answer, "events", ()) or getattr(answer, "epochs", ()))
