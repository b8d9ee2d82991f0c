"""Which findings are root causes, and what follows from each."""

from __future__ import annotations

from collections.abc import Sequence

from speckv_debug.model.finding import Finding
from speckv_debug.viewers.terminal.headline import number


def roots_of(findings: Sequence[Finding]) -> list[Finding]:
    """Findings that follow from no other, in their order."""
    return [finding for finding in findings if finding.cause is None]


def consequences(root: Finding, findings: Sequence[Finding]) -> str:
    """Such as `RPL-SHADOW step 812 · LEN-TOKEN steps 813 to 1204 (391 times, request 7)`; empty if there are none."""
    reached = {root.first_seq}
    groups: dict[str, list[Finding]] = {}
    for finding in findings:  # in the order of first_seq: a cause comes before what follows from it
        if finding.process == root.process and finding.cause in reached:
            reached.add(finding.first_seq)
            groups.setdefault(finding.rule, []).append(finding)
    return " · ".join(_group(rule, group) for rule, group in groups.items())


def _group(rule: str, group: list[Finding]) -> str:
    steps = [finding.step for finding in group if finding.step is not None]
    times = sum(1 + finding.repeats for finding in group)
    requests = list(dict.fromkeys(finding.request for finding in group if finding.request is not None))
    said = [number(times, "time")] if times > 1 else []
    said += (
        [f"request {requests[0]}" if len(requests) == 1 else f"{len(requests)} requests"] if requests else []
    )
    aside = f" ({', '.join(said)})" if said else ""
    return f"{rule}{_span(steps)}{aside}"


def _span(steps: list[int]) -> str:
    if not steps:
        return ""
    return f" step {steps[0]}" if min(steps) == max(steps) else f" steps {min(steps)} to {max(steps)}"
