"""What `check` found, for people: root causes first, consequences folded under them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TextIO

from speckv_debug.model.causes import RootCause, root_causes, worst_first
from speckv_debug.model.consequences import summary
from speckv_debug.model.finding import CheckResult, Evidence, Finding, Severity
from speckv_debug.model.left_out import left_out
from speckv_debug.model.text import amount, printable
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.terminal.headline import counts, headline
from speckv_debug.viewers.terminal.paint import Paint
from speckv_debug.viewers.terminal.table import table_lines

WIDTH = 110
SHOWN_ROOTS = 3
SHOWN_PLACES = 8
SHOWN_UNKNOWN = 4
MARKS = {Severity.ERROR: "E", Severity.WARNING: "W", Severity.NOTE: "I"}


def render(
    result: CheckResult, recording: Recording, out: TextIO, *, verbose: bool = False, color: bool = False
) -> None:
    """Write the findings, what could be judged, and why the rest could not.

    Args:
        result: What the rules said.
        recording: The recording that they judged.
        out: Where to write.
        verbose: Show every root cause and every reason.
        color: Whether `out` understands colours; they repeat what the text says.
    """
    paint = Paint(color)
    lines = (
        _quiet(result, recording, paint)
        if result.verdict == "clean"
        else _loud(result, recording, paint, verbose)
    )
    notes = [] if result.verdict != "clean" else _blocks(result, recording, paint, verbose)
    unknown = [*_unknown_lines(result)] if verbose else []
    left = [line for name, said in left_out(result) for line in _field(name, said)]
    out.write("".join(f"{line}\n" for line in (*lines, *notes, *left, *unknown)))


def _quiet(result: CheckResult, recording: Recording, paint: Paint) -> Iterator[str]:
    rules, left = sum(1 for n in result.checked.values() if n), len({u.rule for u in result.unknown})
    steps, _ = counts(recording)
    share = f"judged {result.judged_percent:.1f} %, unknown: {amount(left, 'rule')}"
    tail = f" · {share} (--verbose)" if left else ""
    judged = f"{amount(result.judged_instances, 'instance')} of {amount(rules, 'rule')}"
    said = f"{steps}, {judged}, {result.nothing_found}{tail}"
    mark = paint.doubt("?") if result.doubt(recording.damaged) else paint.good("✓")
    yield f"{mark} {printable(recording.path.name)}  {said}"


def _loud(result: CheckResult, recording: Recording, paint: Paint, verbose: bool) -> Iterator[str]:
    mark = paint.bad("✗") if result.verdict == "findings" else paint.doubt("?")
    yield f"{mark} {printable(headline(recording))}"
    yield verdict_line(result)
    yield from _field("lost", _lost(recording))
    yield from _blocks(result, recording, paint, verbose)
    yield ""
    yield judged_line(result)


def _lost(recording: Recording) -> str:
    """How many events the recording says it holds, where none of them can be read."""
    if any(len(process.table(name)) for process in recording.processes for name in process.present):
        return ""
    counts = [process.info.raw.get("events") for process in recording.processes]
    events = sum(count for count in counts if isinstance(count, int) and count > 0)
    return f"process.json names {amount(events, 'event')}; no table of them is there" if events else ""


def verdict_line(result: CheckResult) -> str:
    """How many root causes and consequences, since which step; that nothing could be judged."""
    if result.verdict == "unknown":
        return "nothing could be judged"
    serious = [finding for finding in result.findings if finding.severity is not Severity.NOTE]
    roots = root_causes(serious)
    rest = len(serious) - len(roots)
    first = min((root.finding.step for root in roots if root.finding.step is not None), default=None)
    since = "" if first is None else f", since step {first}"
    follow = f", {amount(rest, 'consequence')}" if rest else ""
    return f"{amount(len(roots), 'root cause')}{follow}{since}"


def _blocks(result: CheckResult, recording: Recording, paint: Paint, verbose: bool) -> Iterator[str]:
    """A few root causes of each rule in full, the others of the rule in a line; errors first."""
    groups: dict[tuple[str, Severity], list[RootCause]] = {}
    for root in worst_first(root_causes(result.findings)):
        groups.setdefault((root.finding.rule, root.finding.severity), []).append(root)
    several = result.names_processes(len(recording.processes))
    for roots in groups.values():
        shown = roots if verbose else roots[:SHOWN_ROOTS]
        for root in shown:
            yield ""
            yield from _block(root, result, paint, several)
        if more := roots[len(shown) :]:
            places = "; ".join(
                where(root.finding, several).removeprefix(" · ") for root in more[:SHOWN_PLACES]
            )
            rest = f" and {len(more) - SHOWN_PLACES:,} more (--verbose)" if more[SHOWN_PLACES:] else ""
            yield from _field("also", f"{places}{rest}")


def _block(cause: RootCause, result: CheckResult, paint: Paint, several: bool) -> Iterator[str]:
    root = cause.finding
    law = result.laws.get(root.rule)
    mark, place = paint.severity(MARKS[root.severity], root.severity), printable(where(root, several))
    yield f"{mark}  {paint.strong(root.rule)}{place}"
    yield from _field("found", root.message)
    if law is not None:
        yield from _field("law", law.law)
    yield from _field("due", root.expected)
    yield from _field("engine", root.actual)
    for evidence in root.evidence:
        yield from _evidence(evidence, paint)
    yield from _field("about", root.about)
    if law is not None and law.look_at:
        yield from _field("look at", law.look_at)
    if root.repeats:
        yield from _field("again", f"{amount(root.repeats, 'more instance')} of the same")
    if then := summary(cause.consequences):
        yield from _field("then", then)


def where(finding: Finding, several: bool) -> str:
    """Each behind a dot: process (where there are several), step, request or row; the event where no step is known."""
    facts: list[tuple[str, object]] = [("process", finding.process)] if several else []
    facts += [("step", finding.step), ("request", finding.request)]
    facts += [] if finding.request is not None else [("row", finding.row)]
    facts += [("seq", finding.first_seq)] if finding.step is None else []
    return "".join(f" · {name} {value}" for name, value in facts if value is not None)


def _field(name: str, value: str | None) -> Iterator[str]:
    if value:
        lines = textwrap.wrap(printable(value), WIDTH - 12, break_on_hyphens=False) or [""]
        yield f"   {name:<9}{lines[0]}"
        yield from (f"{'':12}{line}" for line in lines[1:])


def _evidence(evidence: Evidence, paint: Paint) -> Iterator[str]:
    for index, line in enumerate(table_lines(evidence)):
        yield f"{'':12}{paint.dim(line) if index == 0 else line}"


def judged_line(result: CheckResult) -> str:
    """How much was judged, and why the rest was not."""
    if not result.instances:
        return "there is no instance of any rule"
    share = f"judged {result.judged_percent:.1f} % of {amount(result.instances, 'instance')}"
    why = [f"{u.rule} ({printable(u.why)})" for u in result.unknown]
    if not why:
        return share
    more = f" and {len(why) - SHOWN_UNKNOWN} more (--verbose)" if len(why) > SHOWN_UNKNOWN else ""
    return f"{share} · unknown: {', '.join(why[:SHOWN_UNKNOWN])}{more}"


def _unknown_lines(result: CheckResult) -> Iterator[str]:
    for unknown in result.unknown:
        yield f"   unknown  {unknown.rule}: {amount(unknown.instances, 'instance')}, {printable(unknown.why)}"
