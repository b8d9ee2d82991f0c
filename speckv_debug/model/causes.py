"""Which finding each finding hangs under: `cause` names an event, at which several findings may stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from speckv_debug.model.finding import Finding, Severity

WORST_FIRST = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


@dataclass(frozen=True, slots=True)
class RootCause:
    """A finding that follows from no other, and all that follows from it, near or far."""

    finding: Finding
    consequences: tuple[Finding, ...]


def root_causes(findings: Sequence[Finding]) -> list[RootCause]:
    """Every finding once, root causes in their order."""
    below: dict[int, list[Finding]] = {}
    for index, root in enumerate(roots_of(findings)):
        below.setdefault(root, [])
        if index != root:
            below[root].append(findings[index])
    return [RootCause(findings[root], tuple(below[root])) for root in sorted(below)]


def worst_first(roots: Iterable[RootCause]) -> list[RootCause]:
    """Errors, then warnings, then notes; each in their order."""
    return sorted(roots, key=lambda root: WORST_FIRST.index(root.finding.severity))


def parents_of(findings: Sequence[Finding]) -> list[int | None]:
    """The index of the finding that each one follows from, None for a root cause; no finding is its own ancestor.

    Of several findings at the event that `cause` names, it is the first that is a root cause itself, else the first. A
    cause that is not among the findings, and a ring of causes at its first finding, make a root.

    Args:
        findings: In the order of a check: by process and event, those of one event in the order of the catalogue.
    """
    at: dict[tuple[str, int], list[int]] = {}
    for index, finding in enumerate(findings):
        if finding.severity is not Severity.NOTE:
            at.setdefault((finding.process, finding.first_seq), []).append(index)
    for here in at.values():
        here.sort(key=lambda index: (findings[index].cause is not None, index))
    parents = [_parent(index, finding, at) for index, finding in enumerate(findings)]
    for index in range(len(parents)):
        if _comes_back(parents, index):
            parents[index] = None
    return parents


def roots_of(findings: Sequence[Finding]) -> list[int]:
    """The index of the root cause above each finding, its own if it is one."""
    parents, roots = parents_of(findings), list(range(len(findings)))
    for index in range(len(findings)):
        while (parent := parents[roots[index]]) is not None:
            roots[index] = parent
    return roots


def _parent(index: int, finding: Finding, at: dict[tuple[str, int], list[int]]) -> int | None:
    if finding.cause is None:
        return None
    return next((other for other in at.get((finding.process, finding.cause), ()) if other != index), None)


def _comes_back(parents: Sequence[int | None], index: int) -> bool:
    """Whether the way up from a finding leads to it again."""
    seen, at = set[int](), parents[index]
    while at is not None and at != index and at not in seen:
        seen.add(at)
        at = parents[at]
    return at == index
