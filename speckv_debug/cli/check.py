"""Judge a recording by the laws of KV-cache management under speculative decoding, and by replay.

Exit code 0: nothing found that a baseline does not know; 1: an error or a warning; 2: wrong usage or no recording; 3: nothing could be judged.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from speckv_debug.cli.baseline import write_baseline
from speckv_debug.cli.choosing import add_format_options
from speckv_debug.cli.hint import inspect_command
from speckv_debug.cli.opening import reading
from speckv_debug.cli.output import claim, typed
from speckv_debug.cli.policy import Policy, add_policy_options, policy_of
from speckv_debug.cli.progress import ProgressBar
from speckv_debug.cli.replaying import add_replay_options
from speckv_debug.cli.streams import wants_color
from speckv_debug.errors import UsageError
from speckv_debug.exit_codes import ExitCode
from speckv_debug.model.finding import CheckResult

if TYPE_CHECKING:
    from speckv_debug.recording.reader import Recording

EXAMPLES = """examples:
  speckv-debug check run.speckv
  speckv-debug check run.speckv --format json --rule MOV-PAIR --rule MOV-MISSING | jq .verdict
  speckv-debug check run.speckv --baseline known.json --write-baseline"""

VERDICTS = {"clean": ExitCode.CLEAN, "findings": ExitCode.FINDINGS, "unknown": ExitCode.NOTHING_TO_JUDGE}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("recording", type=Path, metavar="RECORDING", help="recording to judge")
    add_format_options(parser)
    add = parser.add_argument
    add("--rule", action="append", default=[], metavar="ID", help="run this rule only; may be repeated [all]")
    add("--ignore", action="append", default=[], metavar="ID", help="leave this rule out; may be repeated")
    add_replay_options(parser)
    add_policy_options(parser)
    add(
        "--write-baseline",
        action="store_true",
        help="put all findings of this check into the baseline file",
    )


def run(args: argparse.Namespace) -> int:
    """Open, judge, print."""
    policy = _policy(args)
    only, ignore = _chosen(args)
    with reading(args.recording) as recording:
        result = _judged(args, policy, recording, only, ignore)
    if args.write_baseline:
        _write_baseline(policy.baseline, recording, result)
    if not args.write_baseline or result.verdict != "unknown":
        result = policy.without_known(result, recording)
    args.code = VERDICTS[result.verdict]
    if args.format == "json":
        from speckv_debug.viewers.terminal import json

        json.render(result, sys.stdout)
    else:
        from speckv_debug.viewers.terminal import text

        text.render(result, recording, sys.stdout, verbose=args.verbose, color=wants_color())
    _say_next(args.recording, recording, result)
    return int(args.code)


def _policy(args: argparse.Namespace) -> Policy:
    """What the configuration asks for; with a place for the baseline where one is to be written."""
    policy = policy_of(args, rewritten=args.write_baseline)
    if args.write_baseline:
        if policy.baseline is None:
            raise UsageError("--write-baseline needs a file", "Name it: --baseline FILE.")
        claim(policy.baseline, True, kind="file", input=args.recording, option="--baseline")
    return policy


def _chosen(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Rules to run, and rules to leave out."""
    from speckv_debug.checks.selection import named, select

    _require_single("--rule", args.rule)
    _require_single("--ignore", args.ignore)
    select(args.rule, args.ignore, args.replay)
    return [named(id).id for id in args.rule], args.ignore


def _require_single(option: str, ids: Sequence[str]) -> None:
    """Refuse several rule ids in one word."""
    for id in ids:
        if len(parts := id.replace(",", " ").split()) > 1:
            remedy = f"Repeat it: {' '.join(f'{option} {part}' for part in parts)}."
            raise UsageError(f"{option} takes one rule id, not {id!r}", remedy)


def _judged(
    args: argparse.Namespace, policy: Policy, recording: Recording, only: list[str], ignore: list[str]
) -> CheckResult:
    on_error = _show_traceback if args.verbose else _say_nothing
    with ProgressBar("checking") as bar:
        return policy.judged(
            recording,
            only=only,
            ignore=ignore,
            replay=args.replay,
            device=args.device,
            on_error=on_error,
            on_progress=bar,
        )


def _write_baseline(file: Path | None, recording: Recording, result: CheckResult) -> None:
    from speckv_debug.checks.known import baseline_of

    assert file is not None  # else `_policy` refused
    if result.verdict == "unknown":
        print(f"speckv-debug: nothing was judged, so {typed(file)} was not written", file=sys.stderr)
        return
    count = write_baseline(file, baseline_of(result, recording), result.laws)
    print(f"speckv-debug: wrote {typed(file)}, known findings: {count}", file=sys.stderr)


def _say_next(path: Path, recording: Recording, result: CheckResult) -> None:
    info = f"speckv-debug info {typed(path)}"
    command = info if result.verdict == "unknown" else inspect_command(path, recording, result)
    print(f"next: {command}", file=sys.stderr)


def _show_traceback(rule: str, error: Exception) -> None:
    print(f"speckv-debug: {rule} raised", file=sys.stderr)
    traceback.print_exception(error)


def _say_nothing(rule: str, error: Exception) -> None:
    """Without --verbose the reason stands among the unknowns."""
