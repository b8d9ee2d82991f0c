"""What follows from a root cause, in a line."""

from __future__ import annotations

from collections.abc import Sequence

from speckv_debug.model.finding import Finding
from speckv_debug.model.text import amount


def summary(consequences: Sequence[Finding]) -> str:
    """Such as `RPL-SHADOW step 812 · LEN-TOKEN steps 813 to 1204 (391 times, request 7)`; empty if there are none."""
    groups: dict[str, list[Finding]] = {}
    for finding in consequences:
        groups.setdefault(finding.rule, []).append(finding)
    return " · ".join(_group(rule, group) for rule, group in groups.items())


def _group(rule: str, group: list[Finding]) -> str:
    steps = [finding.step for finding in group if finding.step is not None]
    times = sum(1 + finding.repeats for finding in group)
    requests = list(dict.fromkeys(finding.request for finding in group if finding.request is not None))
    said = [amount(times, "time")] if times > 1 else []
    said += (
        [f"request {requests[0]}" if len(requests) == 1 else f"{len(requests)} requests"] if requests else []
    )
    aside = f" ({', '.join(said)})" if said else ""
    return f"{rule}{_span(steps)}{aside}"


def _span(steps: list[int]) -> str:
    if not steps:
        return ""
    return f" step {steps[0]}" if min(steps) == max(steps) else f" steps {min(steps)} to {max(steps)}"
