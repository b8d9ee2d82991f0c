"""Findings in the order to read them: root causes, errors first, each with what follows from it."""

from __future__ import annotations

from dataclasses import dataclass

from speckv_debug.model.causes import roots_of
from speckv_debug.model.finding import CheckResult, Finding, Severity

ORDER = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


@dataclass(frozen=True, slots=True)
class RootCause:
    """A finding that follows from no other, and all that follows from it, near or far."""

    finding: Finding
    consequences: tuple[Finding, ...]


def root_causes(result: CheckResult) -> tuple[RootCause, ...]:
    """Every finding once: as a root cause, or among the consequences of one."""
    findings, roots = result.findings, roots_of(result.findings)
    grouped = [
        RootCause(findings[root], tuple(findings[i] for i, r in enumerate(roots) if r == root and i != root))
        for root in sorted(set(roots))
    ]
    return tuple(sorted(grouped, key=lambda group: ORDER.index(group.finding.severity)))
