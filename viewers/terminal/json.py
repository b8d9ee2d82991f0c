"""What `check` found, as one JSON object: the form that scripts rely on."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, TextIO

from speckv_debug.model.finding import CheckResult, Evidence, Finding


def render(result: CheckResult, out: TextIO) -> None:
    """Every finding, consequences included, what is unknown and what was judged; absent values are null."""
    value = {
        "verdict": result.verdict,
        "judged": {
            "instances": result.judged_instances,
            "of": result.instances,
            "percent": result.judged_percent,
        },
        "findings": [_finding(finding) for finding in result.findings],
        "unknown": [asdict(unknown) for unknown in result.unknown],
        "checked": result.checked,
        "known": None if result.known is None else asdict(result.known),
        "disabled": result.disabled,
        "lowered": result.lowered,
    }
    out.write(json.dumps(value, indent=2) + "\n")


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": str(finding.severity),
        "process": finding.process,
        "step": finding.step,
        "request": finding.request,
        "row": finding.row,
        "epoch": finding.epoch,
        "pool": finding.pool,
        "slots": finding.slots,
        "pages": finding.pages,
        "ranks": None if finding.ranks is None else [asdict(rank) for rank in finding.ranks],
        "message": finding.message,
        "expected": finding.expected,
        "actual": finding.actual,
        "about": finding.about,
        "evidence": [_evidence(evidence) for evidence in finding.evidence],
        "first_seq": finding.first_seq,
        "repeats": finding.repeats,
        "cause": finding.cause,
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return asdict(evidence)
