"""The verdict in words: is it broken, and since when."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content

from speckv_debug.model.finding import CheckResult
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.inspection import Inspection
from speckv_debug.viewers.tui.lookup import StepLookup
from speckv_debug.viewers.tui.outline import Outcome

SIGNS = {
    "findings": ("✗", ink.BAD),
    "clean": ("✓", f"bold {ink.GOOD}"),
    "unknown": ("?", f"bold {ink.DOUBT}"),
}


def headline(
    inspection: Inspection, lookups: Mapping[str, StepLookup], outcome: Outcome | None, progress: str
) -> Content:
    """Two lines: the verdict, or what is being done, and the recording's facts.

    Args:
        inspection: The recording.
        lookups: Verifies of the processes that have been read.
        outcome: None while the check runs.
        progress: What is being done then.
    """
    facts = Content.styled(f"  {_facts(inspection, lookups)}", ink.FAINT)
    if outcome is None:
        return Content.assemble((f"⋯ {progress}", ink.DOUBT), "\n", facts)
    sign, style = SIGNS[outcome.result.verdict]
    return Content.assemble((f"{sign} {_verdict(outcome)}", style), "\n", facts)


def _facts(inspection: Inspection, lookups: Mapping[str, StepLookup]) -> str:
    facts = [inspection.facts] if inspection.facts else []
    if len(inspection.processes) > 1:
        facts.append(f"{len(inspection.processes)} processes")
    if lookups:
        verifies = sum(len(lookup) for lookup in lookups.values())
        requests = len({request for lookup in lookups.values() for request in lookup.requests})
        facts.append(f"{_count(verifies, 'verify', 'verifies')} of {_count(requests, 'request')}")
    return " · ".join(facts)


def _verdict(outcome: Outcome) -> str:
    result = outcome.result
    if result.verdict == "unknown":
        return "can't be judged: no instance of any rule had what it needs"
    judged = f"{sum(result.checked.values()):,} instances of {_ruled(result)} rules judged"
    if result.verdict == "clean":
        return f"nothing found · {judged}{_notes(outcome)}"
    since = f", since step {outcome.first_step}" if outcome.first_step is not None else ""
    then = f", {_count(outcome.consequences, 'consequence')}" if outcome.consequences else ""
    return f"{_count(outcome.roots, 'root cause')}{then}{since}{_notes(outcome)}"


def _notes(outcome: Outcome) -> str:
    notes = len(outcome.entries) - outcome.roots - outcome.consequences
    return f" · {_count(notes, 'note')}" if notes else ""


def _ruled(result: CheckResult) -> int:
    return sum(count > 0 for count in result.checked.values())


def _count(number: int, noun: str, several: str = "") -> str:
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"
