"""Findings in the order to read them: each root cause, below it what follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from speckv_debug.model.causes import parents_of
from speckv_debug.model.finding import CheckResult, Finding, Severity
from speckv_debug.viewers.tui.lookup import StepLookup
from speckv_debug.viewers.tui.places import Place

Marks = Mapping[int, tuple[Finding, ...]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A finding in the outline; `depth` 0 is a root cause, `place` the verify that shows it, if any."""

    finding: Finding
    depth: int
    place: Place | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A check's result, made ready for the screens.

    Attributes:
        entries: All findings, root causes first, each followed by its consequences.
        marks: Process label → index of a verify → the findings there.
        complete: Whether the check is over; else these are the findings so far.
        last_step: The last step of what was judged, None where none was recorded.
    """

    result: CheckResult
    entries: tuple[Entry, ...] = ()
    marks: Mapping[str, Marks] = field(default_factory=dict)
    complete: bool = True
    last_step: int | None = None

    @property
    def roots(self) -> int:
        """How many errors and warnings follow from no other finding."""
        return sum(entry.depth == 0 for entry in self._bad)

    @property
    def consequences(self) -> int:
        """How many errors and warnings follow from another finding."""
        return sum(entry.depth > 0 for entry in self._bad)

    @property
    def only_warned(self) -> bool:
        """Whether warnings stand and no error does."""
        return bool(self._bad) and all(entry.finding.severity is Severity.WARNING for entry in self._bad)

    @property
    def first_step(self) -> int | None:
        """The step of the first error or warning, None where no step was recorded."""
        steps = [entry.finding.step for entry in self._bad if entry.finding.step is not None]
        return min(steps, default=None)

    @property
    def part(self) -> str:
        """Of which part of a recording that has grown since this is the outcome."""
        return "before" if self.last_step is None else f"to step {self.last_step:,}"

    @property
    def _bad(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.finding.severity is not Severity.NOTE]


def outcome_of(result: CheckResult, lookups: Mapping[str, StepLookup], *, complete: bool = True) -> Outcome:
    """Order the findings of `result` and find the verify of each."""
    entries = tuple(
        Entry(finding, depth, place_of(finding, lookups)) for finding, depth in _ordered(result.findings)
    )
    marks: dict[str, dict[int, tuple[Finding, ...]]] = {label: {} for label in lookups}
    for entry in entries:
        if entry.place is not None:
            here = marks[entry.place.process]
            here[entry.place.index] = (*here.get(entry.place.index, ()), entry.finding)
    last = max((step for each in lookups.values() if (step := each.last_step) is not None), default=None)
    return Outcome(result, entries, marks, complete, last)


def consequences_of(outcome: Outcome, root: Entry) -> tuple[Finding, ...]:
    """All that follows from a root cause, near or far."""
    behind = outcome.entries[outcome.entries.index(root) + 1 :]
    return tuple(entry.finding for entry in takewhile(lambda entry: entry.depth > 0, behind))


def place_of(finding: Finding, lookups: Mapping[str, StepLookup]) -> Place | None:
    """The verify where `finding` shows: its own event, else its request's (or any) verify at its step."""
    lookup = lookups.get(finding.process)
    if lookup is None or not len(lookup):
        return None
    own = lookup.at_seq(finding.first_seq)
    if own is not None:
        return Place(finding.process, own)
    here = () if finding.step is None else lookup.at_step(finding.step)
    for index in here:
        if finding.request is None or lookup.steps.request[int(index)] == finding.request:
            return Place(finding.process, int(index))
    return None


def _ordered(findings: tuple[Finding, ...]) -> Iterator[tuple[Finding, int]]:
    """Walk down from the root causes, notes last; a cause that is not in the list makes a root."""
    following: dict[int, list[int]] = {}
    roots: list[int] = []
    for i, parent in enumerate(parents_of(findings)):
        (roots if parent is None else following.setdefault(parent, [])).append(i)
    roots.sort(key=lambda i: findings[i].severity is Severity.NOTE)
    stack = [(root, 0) for root in reversed(roots)]
    while stack:
        i, depth = stack.pop()
        yield findings[i], depth
        stack.extend((child, depth + 1) for child in reversed(following.get(i, ())))
