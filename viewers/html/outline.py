"""Findings in the order to read them: root causes, errors first, each with what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from speckv_debug.model.finding import CheckResult, Finding, Severity

ORDER = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


@dataclass(frozen=True, slots=True)
class RootCause:
    """A finding that follows from no other, and all that follows from it, near or far."""

    finding: Finding
    consequences: tuple[Finding, ...]


def root_causes(result: CheckResult) -> tuple[RootCause, ...]:
    """Every finding once: as a root cause, or among the consequences of one."""
    findings = result.findings
    roots = [_root_of(findings, index) for index in range(len(findings))]
    grouped = [
        RootCause(findings[root], tuple(findings[i] for i, r in enumerate(roots) if r == root and i != root))
        for root in dict.fromkeys(roots)
    ]
    return tuple(sorted(grouped, key=lambda group: ORDER.index(group.finding.severity)))


def _root_of(findings: Sequence[Finding], index: int) -> int:
    seen = {index}
    while (cause := _cause_of(findings, index)) is not None and cause not in seen:
        seen.add(cause)
        index = cause
    return min(seen) if cause is not None else index


def _cause_of(findings: Sequence[Finding], index: int) -> int | None:
    """The finding of the same process at the event named as cause, best one that is a root itself."""
    finding = findings[index]
    if finding.cause is None:
        return None
    there = [
        i
        for i, other in enumerate(findings)
        if other.process == finding.process and other.first_seq == finding.cause and i != index
    ]
    return min(there, key=lambda i: (findings[i].cause is not None, i), default=None)
