"""Judge a recording by the laws of KV-cache management under speculative decoding, and by replay.

Exit code 0: nothing found that a baseline does not know; 1: an error or a warning; 2: wrong usage or no recording; 3: nothing could be judged.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from speckv_debug.cli.baseline import add_baseline_options, read_baseline, write_baseline
from speckv_debug.cli.choosing import add_format_options
from speckv_debug.cli.config import Config, add_config_options, configured
from speckv_debug.cli.hint import inspect_command
from speckv_debug.cli.opening import reading
from speckv_debug.cli.output import claim, typed
from speckv_debug.cli.progress import ProgressBar
from speckv_debug.cli.replaying import add_replay_options
from speckv_debug.cli.streams import wants_color
from speckv_debug.errors import UsageError
from speckv_debug.exit_codes import ExitCode
from speckv_debug.model.finding import CheckResult
from speckv_debug.model.text import printable

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
    add_config_options(parser)
    add_baseline_options(parser)


def run(args: argparse.Namespace) -> int:
    """Open, judge, print."""
    config = configured(args, Path.cwd())
    baseline = _baseline(args, config)
    only, ignore = _chosen(args, config)
    with reading(args.recording) as recording:
        result = _judged(args, recording, only, ignore)
    result = _with_policy(args, config, baseline, recording, result)
    if args.format == "json":
        from speckv_debug.viewers.terminal import json

        json.render(result, sys.stdout)
    else:
        from speckv_debug.viewers.terminal import text

        text.render(result, recording, sys.stdout, verbose=args.verbose, color=wants_color())
    _say_next(args.recording, recording, result)
    return VERDICTS[result.verdict]


def _baseline(args: argparse.Namespace, config: Config) -> Path | None:
    """The file of known findings, by the option, else by the configuration."""
    file: Path | None = args.baseline or config.baseline
    if args.write_baseline:
        if file is None:
            raise UsageError("--write-baseline needs a file", "Name it: --baseline FILE.")
        claim(file, True, kind="file", input=args.recording, option="--baseline")
    elif file is not None:
        _require_baseline(file, None if args.baseline else config)
    return file


def _require_baseline(file: Path, config: Config | None) -> None:
    """Refuse a baseline that can't be used before anything is judged; names the key that asks for it."""
    try:
        read_baseline(file)
    except UsageError as error:
        if config is None:
            raise
        where = f"{printable(str(config.file))}: tool.speckv-debug.baseline"
        raise UsageError(f"{where}: {error.what}", error.remedy) from error


def _chosen(args: argparse.Namespace, config: Config) -> tuple[list[str], list[str]]:
    """Rules to run, and rules to leave out; what is asked for by name is not left out by the configuration."""
    from speckv_debug.checks.selection import named, select

    _require_single("--rule", args.rule)
    _require_single("--ignore", args.ignore)
    select(args.rule, args.ignore, args.replay)
    only = [named(id).id for id in args.rule]
    ignore = [*args.ignore, *(id for id in config.disable if id not in only)]
    try:
        select(only, ignore, args.replay)
    except UsageError as error:
        what = f"{printable(str(config.file))}: tool.speckv-debug.disable leaves no rule to run"
        raise UsageError(what, "Name one with --rule, or say --no-config.") from error
    return only, ignore


def _require_single(option: str, ids: Sequence[str]) -> None:
    """Refuse several rule ids in one word."""
    for id in ids:
        if len(parts := id.replace(",", " ").split()) > 1:
            remedy = f"Repeat it: {' '.join(f'{option} {part}' for part in parts)}."
            raise UsageError(f"{option} takes one rule id, not {id!r}", remedy)


def _judged(
    args: argparse.Namespace, recording: Recording, only: list[str], ignore: list[str]
) -> CheckResult:
    from speckv_debug.checks.run import check

    on_error = _show_traceback if args.verbose else _say_nothing
    with ProgressBar("checking") as bar:
        return check(
            recording,
            only=only,
            ignore=ignore,
            replay=args.replay,
            device=args.device,
            on_error=on_error,
            on_progress=bar,
        )


def _with_policy(
    args: argparse.Namespace, config: Config, baseline: Path | None, recording: Recording, result: CheckResult
) -> CheckResult:
    """The result as the configuration and the baseline would have it; writes the baseline where that is asked for."""
    from speckv_debug.checks.known import adjusted, baseline_of, without_known

    result = replace(adjusted(result, config.severity), disabled=_disabled(args, config))
    if baseline is None:
        return result
    if args.write_baseline and result.verdict == "unknown":
        print(f"speckv-debug: nothing was judged, so {typed(baseline)} was not written", file=sys.stderr)
        return result
    if args.write_baseline:
        count = write_baseline(baseline, baseline_of(result, recording), result.laws)
        print(f"speckv-debug: wrote {typed(baseline)}, known findings: {count}", file=sys.stderr)
    return without_known(result, recording, read_baseline(baseline))


def _disabled(args: argparse.Namespace, config: Config) -> tuple[str, ...]:
    """Rules that would have run."""
    from speckv_debug.checks.selection import select

    would = {rule.id for rule in select(args.rule, args.ignore, args.replay)} - set(args.rule)
    return tuple(id for id in config.disable if id in would and not args.rule)


def _say_next(path: Path, recording: Recording, result: CheckResult) -> None:
    info = f"speckv-debug info {typed(path)}"
    command = info if result.verdict == "unknown" else inspect_command(path, recording, result)
    print(f"next: {command}", file=sys.stderr)


def _show_traceback(rule: str, error: Exception) -> None:
    print(f"speckv-debug: {rule} raised", file=sys.stderr)
    traceback.print_exception(error)


def _say_nothing(rule: str, error: Exception) -> None:
    """Without --verbose the reason stands among the unknowns."""
