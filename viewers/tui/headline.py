"""The verdict in words: is it broken, since when, and what could not be judged."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from speckv_debug.model.finding import CheckResult
from speckv_debug.model.text import printable
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.inspection import Inspection
from speckv_debug.viewers.tui.outline import Outcome


def headline(inspection: Inspection, outcome: Outcome | None, progress: str) -> Content:
    """Two lines: the recording's facts, and the verdict or what is being done."""
    sign, style = _sign(outcome)
    first = Content.assemble(
        (f"{sign} {printable(inspection.name)}", style or ink.STRONG), "   ", inspection.facts
    )
    if outcome is None:
        return Content.assemble(first, "\n  ", (progress, ink.DOUBT))
    return Content.assemble(first, "\n  ", (_verdict(outcome), style))


def _sign(outcome: Outcome | None) -> tuple[str, str]:
    if outcome is None:
        return "⋯", ""
    signs = {
        "findings": ("✗", ink.BAD),
        "clean": ("✓", f"bold {ink.GOOD}"),
        "unknown": ("?", f"bold {ink.DOUBT}"),
    }
    return signs[outcome.result.verdict]


def _verdict(outcome: Outcome) -> str:
    result = outcome.result
    if result.verdict == "unknown":
        return "can't be judged: no instance of any rule had what it needs"
    judged = f"{sum(result.checked.values()):,} instances of {_ruled(result)} rules judged"
    if result.verdict == "clean":
        return f"nothing found · {judged}" + (
            f" · {_count(len(outcome.entries), 'note')}" if outcome.entries else ""
        )
    since = f", since step {outcome.first_step}" if outcome.first_step is not None else ""
    follow = len(outcome.entries) - outcome.roots
    then = f", {_count(follow, 'consequence')}" if follow else ""
    return f"{_count(outcome.roots, 'root cause')}{then}{since}"


def unknown_summary(inspection: Inspection, outcome: Outcome | None) -> Content:
    """What was not judged and why, what could not be read; empty if there is nothing to say."""
    return Content("\n").join(Content.styled(line, ink.DOUBT) for line in _unknown_lines(inspection, outcome))


def _unknown_lines(inspection: Inspection, outcome: Outcome | None) -> Iterator[str]:
    if inspection.problems:
        more = f" (and {len(inspection.problems) - 1} more, see info)" if len(inspection.problems) > 1 else ""
        yield f"? not readable: {printable(inspection.problems[0])}{more}"
    if outcome is not None and outcome.result.unknown:
        yield _unjudged(outcome.result)


def _unjudged(result: CheckResult) -> str:
    """All reasons by rule, the ones with most instances first; the widget cuts what has no room."""
    missed = sum(unknown.instances for unknown in result.unknown)
    listed = sorted(result.unknown, key=lambda u: (-u.instances, u.rule, u.why))
    reasons = "; ".join(f"{u.rule} {u.instances:,} ({printable(u.why)})" for u in listed)
    share = f"judged {100 * result.judged_share:.1f} % of {sum(result.checked.values()) + missed:,} instances"
    return f"? {share} · unknown: {reasons}"


def _ruled(result: CheckResult) -> int:
    return sum(count > 0 for count in result.checked.values())


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
