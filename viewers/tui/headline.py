"""The verdict in words: is it broken, and since when."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from textual.content import Content

from speckv_debug.model.finding import CheckResult
from speckv_debug.model.text import amount
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.inspection import Inspection
from speckv_debug.viewers.tui.lookup import StepLookup
from speckv_debug.viewers.tui.outline import Outcome

SIGNS = {
    "findings": ("✗", ink.BAD),
    "clean": ("✓", f"bold {ink.GOOD}"),
    "unknown": ("?", f"bold {ink.DOUBT}"),
}
ENDED = "!"
"""Before what is said of a check that goes on no more."""
WARNED = ("!", f"bold {ink.DOUBT}")
"""Where no error stands."""


def headline(
    inspection: Inspection, lookups: Mapping[str, StepLookup], outcome: Outcome | None, progress: str
) -> Content:
    """Two lines: the verdict, or what is being done, and the recording's facts.

    Args:
        inspection: The recording.
        lookups: Verifies of the processes that have been read.
        outcome: None while the check runs.
        progress: What is being done; empty when the check is over.
    """
    facts = Content.styled(f"  {_facts(inspection, lookups)}", ink.FAINT)
    doing = progress if progress.startswith(ENDED) else f"⋯ {progress}"
    if outcome is None:
        return Content.assemble((doing, ink.DOUBT), "\n", facts)
    if outcome.complete and progress:
        before = f"{doing}; judged {outcome.part}: {_verdict(outcome)}"
        return Content.assemble((before, ink.DOUBT), "\n", facts)
    sign, style = WARNED if outcome.only_warned else SIGNS[sure(outcome.result)]
    if outcome.complete:
        return Content.assemble((f"{sign} {_verdict(outcome)}", style), "\n", facts)
    if outcome.result.verdict != "findings":
        return Content.assemble((f"{doing} · so far {_verdict(outcome)}", ink.DOUBT), "\n", facts)
    return Content.assemble(
        (f"{sign} {_verdict(outcome)}", style), (f" · so far, {doing}", ink.DOUBT), "\n", facts
    )


def sure(result: CheckResult) -> str:
    """The verdict, `unknown` also where nothing was found and most could not be judged."""
    return "unknown" if result.verdict == "clean" and result.mostly_unknown else result.verdict


def _facts(inspection: Inspection, lookups: Mapping[str, StepLookup]) -> str:
    facts = [inspection.facts] if inspection.facts else []
    if len(inspection.processes) > 1:
        facts.append(amount(len(inspection.processes), "process", "processes"))
    if lookups:
        facts.append(_verified(tuple(lookups.values())))
    return " · ".join(facts)


@lru_cache(maxsize=1)
def _verified(lookups: tuple[StepLookup, ...]) -> str:
    """Of a long recording there are many thousand requests, and the headline is said every second."""
    verifies = sum(map(len, lookups))
    if not verifies:
        return "no verify known"
    requests = len({request for lookup in lookups for request in lookup.requests})
    return f"{amount(verifies, 'verify', 'verifies')} of {amount(requests, 'request')}"


def _verdict(outcome: Outcome) -> str:
    result = outcome.result
    if result.verdict == "unknown":
        return "can't be judged: no instance of any rule had what it needs"
    judged = f"{amount(result.judged_instances, 'instance')} of {amount(_ruled(result), 'rule')} judged"
    if result.verdict == "clean":
        share = f", {result.judged_percent:.1f} % of all" if result.mostly_unknown else ""
        return f"{result.nothing_found} · {judged}{share}{_notes(outcome)}"
    since = f", since step {outcome.first_step}" if outcome.first_step is not None else ""
    then = f", {amount(outcome.consequences, 'consequence')}" if outcome.consequences else ""
    return f"{amount(outcome.roots, 'root cause')}{then}{since}{_notes(outcome)}"


def _notes(outcome: Outcome) -> str:
    notes = len(outcome.entries) - outcome.roots - outcome.consequences
    return f" · {amount(notes, 'note')}" if notes else ""


def _ruled(result: CheckResult) -> int:
    return sum(count > 0 for count in result.checked.values())
