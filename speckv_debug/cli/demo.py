"""Record the bundled reference engine, show what check finds, and write the report beside the recording.

The engine is a small transformer with paged KV and speculative decoding; it needs no GPU and nothing to download.
A fault makes it do once what a real bug did. The exit code is 0 whatever was found."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from speckv_debug.cli.hint import inspect_command
from speckv_debug.cli.output import add_output_options, claim, default_output, typed
from speckv_debug.cli.streams import wants_color
from speckv_debug.errors import UsageError
from speckv_debug.exit_codes import ExitCode
from speckv_debug.model.labels import meant
from speckv_debug.model.text import amount, printable

if TYPE_CHECKING:
    from speckv_debug.collectors.reference.demo import Demo
    from speckv_debug.collectors.reference.faults.catalogue import Fault
    from speckv_debug.model.finding import CheckResult
    from speckv_debug.recording.reader import Recording

EXAMPLES = """\
examples:
  speckv-debug demo
  speckv-debug demo --fault move-direction-swapped -o broken.speckv
"""

SEEDS = 2**63
"""How many seeds the engine's random numbers take."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add_output_options(parser, default="demo.speckv")
    add = parser.add_argument
    add("--fault", metavar="NAME", help="plant this fault [none: the run is clean]")
    add("--seed", type=int, default=7, metavar="N", help="of the weights and of what the clients ask for [7]")
    add("--list-faults", action="store_true", help="print each fault with the rule that finds it, and stop")


def run(args: argparse.Namespace) -> int:
    """Record, check, report."""
    if args.list_faults:
        return _list_faults()
    fault = _fault(args.fault)
    if not 0 <= args.seed < SEEDS:
        raise UsageError(f"--seed {args.seed} is out of range", "Give a number from 0 to 2**63 - 1.")
    out = args.output or Path("demo.speckv")
    if not out.name:
        raise UsageError(f"{printable(str(out))} is no name for a recording", "Name it: -o NAME.speckv")
    report = claim(default_output(out, ".html"), args.force, kind="file")
    _record(out, args.force, args.seed, fault)
    recording, result = _show(out, report)
    _say(f"wrote {typed(report)}")
    print(f"next: {inspect_command(out, recording, result)}", file=sys.stderr)
    return ExitCode.CLEAN


def _list_faults() -> int:
    from speckv_debug.collectors.reference.faults.catalogue import FAULTS, HARMLESS

    for fault in (*FAULTS, *HARMLESS):
        print(fault.name, fault.rule or "-", fault.sentence, sep="\t")
    return ExitCode.CLEAN


def _fault(name: str | None) -> Fault | None:
    from speckv_debug.collectors.reference.faults.catalogue import FAULTS, HARMLESS, fault_named

    if name is None:
        return None
    fault = fault_named(name)
    if fault is None:
        hint = meant(name, (each.name for each in (*FAULTS, *HARMLESS)))
        raise UsageError(
            f"there is no fault {printable(name)}", f"{hint}`speckv-debug demo --list-faults` names them all."
        )
    return fault


def _record(out: Path, force: bool, seed: int, fault: Fault | None) -> None:
    from speckv_debug.cli.claiming import Claim
    from speckv_debug.collectors.reference.demo import record_demo

    with Claim(out, force) as place:
        _say(f"recording the reference engine into {typed(out)}" + (f", {fault.name}" if fault else ""))
        demo = record_demo(place.path, seed=seed, fault=fault)
        place.keep()
    requests = demo.outcome.requests.values()
    served = sum(request.epoch is not None for request in requests)
    left = f"; {len(requests) - served} gave up while waiting" if served < len(requests) else ""
    _say(f"served {amount(served, 'request')} in {amount(demo.outcome.engine.observer.step, 'step')}{left}")
    if fault:
        _tell_fault(fault, demo)


def _tell_fault(fault: Fault, demo: Demo) -> None:
    shot = demo.outcome.shot
    if shot is None or not shot.fired:
        _say(f"{fault.name} had no occasion in this run; try another --seed")
        return
    at = f"step {shot.step}" + (f", request {shot.request}" if shot.request else "")
    _say(f"planted at {at}: {fault.sentence}" + (f" ({fault.rule})" if fault.rule else ""))
    if demo.stopped:
        _say(f"the engine did not survive it: {demo.stopped}")


def _show(out: Path, report: Path) -> tuple[Recording, CheckResult]:
    from speckv_debug.checks.run import check
    from speckv_debug.cli.opening import open_recording
    from speckv_debug.cli.report import write_report
    from speckv_debug.viewers.terminal import text

    recording: Recording = open_recording(out)
    result = check(recording)
    text.render(result, recording, sys.stdout, color=wants_color())
    sys.stdout.flush()
    write_report(recording, result, report)
    return recording, result


def _say(words: str) -> None:
    print(f"speckv-debug: {words}", file=sys.stderr, flush=True)
