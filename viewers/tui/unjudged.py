"""What could not be judged and why, and what of the recording could not be read."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from speckv_debug.model.finding import CheckResult, Unknown
from speckv_debug.model.left_out import left_out
from speckv_debug.model.text import amount, printable
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.checking_app import CheckingApp
from speckv_debug.viewers.tui.drawing import hanging
from speckv_debug.viewers.tui.inspection import Inspection
from speckv_debug.viewers.tui.outline import Outcome

WAITING = "what could not be judged is known when the check is over"
VERIFIES = "accept"
"""The table of verifies."""
NEEDED = ("accept", "move", "forward", "alloc", "free", "table_write", "lengths", "release", "cache")
"""Tables without whose every event much can't be told."""


def summary(inspection: Inspection, outcome: Outcome | None, width: int) -> Content:
    """At most three lines of `width` cells, cut with an ellipsis; empty if nothing is missing."""
    lines = (Content.styled(line, ink.DOUBT) for line in _summary_lines(inspection, outcome))
    return Content("\n").join(line.truncate(width, ellipsis=True) for line in lines)


def lacks(inspection: Inspection) -> Iterator[str]:
    """What the recording says that it does not hold: damage, a late start, hooks and tables that are not there."""
    yield from map(printable, inspection.problems)
    several = len(inspection.processes) > 1
    for process in inspection.processes:
        name = f"{printable(process.label)}: " if several else ""
        if not process.info.from_start:
            yield f"{name}not recorded from the process's start: who held pages before is not known"
        unresolved = [hook for hook, found in process.info.hooks.items() if found is None]
        if unresolved:
            yield f"{name}hooks that did not resolve: {printable(', '.join(unresolved))}"
        partly = [table for table in NEEDED if not process.info.records(table)]
        if partly:
            yield f"{name}not recorded whole: {', '.join(partly)}"


def no_verify(inspection: Inspection, label: str) -> str:
    """Why no verify of a process is known, which need not mean that there was none."""
    lost = [str(problem) for problem in inspection.problems if f"{label}/{VERIFIES}/" in str(problem)]
    if lost:
        return f"no verify can be read: {printable(lost[0])}"
    process = inspection.process(label)
    if not process.info.records(VERIFIES):
        return f"no verify is known: the table {VERIFIES} was not recorded"
    if not process.recorded(VERIFIES):
        return f"no verify: no file of the table {VERIFIES} is there; either none ran, or the files were lost"
    return f"no verify: the table {VERIFIES} is empty"


def unknowns(outcome: Outcome | None) -> Iterator[str]:
    """What could not be judged, the largest first."""
    missed = [] if outcome is None else missed_by(outcome.result)
    for unknown in missed:
        times = amount(unknown.instances, "time")
        yield f"{unknown.rule} can't be judged {times}: {printable(unknown.why)}"


def sheet(app: CheckingApp, width: int) -> Iterator[Content]:
    """Everything: each problem of the recording, each rule with what it missed; or why that is not known yet."""
    inspection, outcome = app.inspection, app.outcome
    if inspection.problems:
        yield Content.styled("not readable", f"bold {ink.PLACE}")
        for problem in inspection.problems:
            yield from hanging(Content("  "), Content(printable(problem)), width)
    missed = [] if outcome is None else missed_by(outcome.result)
    if outcome is None:
        yield Content.styled(app.stopped or WAITING, ink.DOUBT)
    else:
        yield Content.styled(_share(outcome.result), f"bold {ink.PLACE}")
    for unknown in missed:
        rule = Content.assemble((f"  {unknown.rule:<14}", ink.STRONG), f"{unknown.instances:>9,}  ")
        yield from hanging(rule, Content(printable(unknown.why)), width)
    if not missed and outcome is not None:
        yield Content("  nothing was left unjudged")
    for name, said in [] if outcome is None else left_out(outcome.result):
        yield Content.styled(name, f"bold {ink.PLACE}")
        yield from hanging(Content("  "), Content(printable(said)), width)


def no_finding(outcome: Outcome, way_on: str) -> str:
    """Why none is listed: none was found, or nothing could be judged."""
    if outcome.complete and outcome.result.verdict == "unknown":
        return "nothing could be judged; u says why"
    return f"no finding; {way_on}" if outcome.complete else "nothing found so far"


def missed_by(result: CheckResult) -> list[Unknown]:
    """What missed any instance, the largest first."""
    return sorted((u for u in result.unknown if u.instances), key=lambda u: (-u.instances, u.rule, u.why))


def _summary_lines(inspection: Inspection, outcome: Outcome | None) -> Iterator[str]:
    if inspection.problems:
        more = f" (and {len(inspection.problems) - 1} more)" if len(inspection.problems) > 1 else ""
        yield f"? not readable{more}: {printable(inspection.problems[0])}"
    if outcome is not None and (missed := missed_by(outcome.result)):
        reasons = "; ".join(f"{u.rule} {u.instances:,} ({printable(u.why)})" for u in missed)
        yield f"? {_share(outcome.result)} · unknown: {reasons}"
    if outcome is not None and (
        less := [f"{name} {printable(said)}" for name, said in left_out(outcome.result)]
    ):
        yield " · ".join(less)


def _share(result: CheckResult) -> str:
    return f"judged {result.judged_percent:.1f} % of {amount(result.instances, 'instance')}"
