"""Run a program and record what its engine does with KV; the program always runs to its end.

The target's exit code is returned, 128+n when signal n ended it, 2 when it can't be started and 3
when it ended well but no engine process reported."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from speckv_debug.cli.output import add_output_options, clear, typed
from speckv_debug.errors import UsageError
from speckv_debug.model.text import printable

if TYPE_CHECKING:
    from speckv_debug.cli.claiming import Claim
    from speckv_debug.cli.handshake import Reported

EXAMPLES = """\
examples:
  speckv-debug record -o run.speckv -- python -m sglang.launch_server --model-path MODEL --speculative-algorithm EAGLE
  speckv-debug record --level 1 --steps 2000 --max-size 500MiB -- python serve.py
"""

OUT_VARIABLE = "SPECKV_DEBUG_OUT"
RANKS_VARIABLE = "SPECKV_DEBUG_RANKS"
LEVEL_VARIABLE = "SPECKV_DEBUG_LEVEL"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.usage = (
        "speckv-debug record [-o PATH] [-f] [--level 1|2|3] [--ranks first|all] [--steps N] [--max-size SIZE]"
        " -- COMMAND ..."
    )
    add_output_options(parser, default="speckv-YYYYmmdd-HHMMSS.speckv")
    parser.add_argument(
        "--level",
        choices=("1", "2", "3"),
        help="how much to record: 1 lengths, verifies and moves, 2 every slot and page too, 3 fingerprints"
        " and device times too [2]",
    )
    parser.add_argument(
        "--ranks",
        choices=("first", "all"),
        help="ranks of each tensor-parallel group that record: the first, or all, to compare them [first]",
    )
    parser.add_argument(
        "--steps",
        metavar="N",
        help="stop recording after N engine steps; the target goes on [no limit]",
    )
    parser.add_argument(
        "--max-size",
        metavar="SIZE",
        help="stop recording at SIZE on disk, in bytes or with KiB, MiB or GiB; the target goes on [no limit]",
    )
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the target and its arguments"
    )


def run(args: argparse.Namespace) -> int:
    """Record the target; its exit code, or 3 if it was 0 and nothing reported."""
    from speckv_debug.cli.claiming import Claim
    from speckv_debug.cli.handshake import Announcer, reported
    from speckv_debug.cli.target import Target
    from speckv_debug.recording.manifest import create_manifest

    command = _command(args.command)
    out = Path(os.path.realpath(args.output or time.strftime("speckv-%Y%m%d-%H%M%S.speckv")))
    environment = _environment(out, args.level, args.steps, args.max_size, args.ranks)
    with Claim(out, args.force) as claim:
        create_manifest(out, command)
        with Target(command, environment) as target:
            _say(f"recording into {_shown(out)}")
            try:
                with Announcer(out, partial(_announce, claim)):
                    code = target.wait()
            finally:
                if reported(out):
                    claim.keep()
            code = _conclude(out, command, environment, code)
    if claim.restored:
        _say(f"the recording that {_shown(out)} held before is back")
    return code


def _announce(claim: Claim, process: Reported) -> None:
    claim.keep()
    _say(f"{process} reported")


def _command(words: Sequence[str]) -> list[str]:
    command = list(words[1:] if words[:1] == ["--"] else words)
    if not command:
        raise UsageError("no target to run", "Name it after --: speckv-debug record -- python serve.py")
    return command


def _environment(
    out: Path, level: str | None, steps: str | None, max_size: str | None, ranks: str | None
) -> dict[str, str]:
    """What the target's collectors read: where to record, how much, of which ranks, and when to end."""
    from speckv_debug.recording.limits import SIZE_VARIABLE, STEPS_VARIABLE, parse_size, parse_steps

    limits = {} if level is None else {LEVEL_VARIABLE: level}
    if ranks is not None:
        limits[RANKS_VARIABLE] = ranks
    if steps is not None:
        limits[STEPS_VARIABLE] = str(parse_steps(steps))
    if max_size is not None:
        limits[SIZE_VARIABLE] = str(parse_size(max_size))
    return {**os.environ, OUT_VARIABLE: str(out), **limits}


def _conclude(out: Path, command: Sequence[str], environment: Mapping[str, str], code: int) -> int:
    """Close the manifest, say what was recorded, and give the exit code."""
    from speckv_debug.cli.handshake import reported
    from speckv_debug.recording.manifest import finish_manifest

    processes = reported(out)
    if not any(process.hooked for process in processes):
        return _nothing_recorded(out, command, environment, code)
    manifest = finish_manifest(out, exit_code=code)
    torn = [process["label"] for process in manifest["processes"] if not process["clean_shutdown"]]
    for label in torn:
        _say(f"{printable(label)} did not close its recording (killed?): its last second may be missing")
    _say(f"recorded {', '.join(map(str, processes))} in {_shown(out)}")
    print(f"next: speckv-debug check {_shown(out)}", file=sys.stderr)
    return code


def _nothing_recorded(out: Path, command: Sequence[str], environment: Mapping[str, str], code: int) -> int:
    from speckv_debug.cli.handshake import reasons, reported
    from speckv_debug.exit_codes import ExitCode

    if found := reported(out):
        _say(f"NOTHING WAS RECORDED: {found[0]} reported, but none of its functions could be hooked")
        print(f"next: speckv-debug info {_shown(out)}", file=sys.stderr)
        return code or ExitCode.NOTHING_TO_JUDGE
    _say("NOTHING WAS RECORDED: no engine process reported")
    for reason in reasons(command, environment, code):
        print(f"  {reason}", file=sys.stderr)
    _remove_empty(out)
    return code or ExitCode.NOTHING_TO_JUDGE


def _remove_empty(out: Path) -> None:
    """Take away a recording that holds a manifest and nothing else, so that the name is free again."""
    if out.is_dir() and [path.name for path in out.iterdir()] == ["manifest.json"]:
        clear(out)
        _say(f"{_shown(out)} held nothing and was removed")


def _say(words: str) -> None:
    print(f"speckv-debug: {words}", file=sys.stderr, flush=True)


def _shown(out: Path) -> str:
    """The recording as one would type it from here."""
    relative = os.path.relpath(out)
    return typed(Path(relative) if not relative.startswith("..") else out)
