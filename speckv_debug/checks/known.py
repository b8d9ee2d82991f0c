"""Findings that a baseline knows: taken out of the result, and counted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from speckv_debug.checks.fingerprint import Fingerprint, Spot, fingerprints, spot_of
from speckv_debug.checks.folding import MORE_COLUMNS
from speckv_debug.model.causes import roots_of
from speckv_debug.model.finding import CheckResult, Finding, Known, Severity
from speckv_debug.replay.view import Recording


def adjusted(result: CheckResult, severity: Mapping[str, Severity]) -> CheckResult:
    """The result with other severities, by rule id; a note of a rule whose findings are no notes stays one."""
    laws = {
        id: law if id not in severity else replace(law, severity=severity[id])
        for id, law in result.laws.items()
    }

    def judged(finding: Finding) -> Finding:
        aside = finding.severity is Severity.NOTE and result.laws[finding.rule].severity is not Severity.NOTE
        if aside or finding.rule not in severity or _counts(finding):
            return finding
        return replace(finding, severity=severity[finding.rule])

    findings = tuple(map(judged, result.findings))
    lowered: dict[str, int] = {}
    for before, after in zip(result.findings, findings, strict=True):
        if after.severity is Severity.NOTE is not before.severity:
            lowered[after.rule] = lowered.get(after.rule, 0) + 1
    return replace(result, findings=findings, laws=laws, lowered=lowered)


def without_known(
    result: CheckResult, recording: Recording, baseline: Collection[Fingerprint]
) -> CheckResult:
    """The result without the root causes that the baseline knows, and without what follows from them.

    A note that counts the findings that are not explained one by one is known if all of them are; else it becomes a finding
    of its rule's severity, since what is new among them must not be lost.
    """
    findings, roots = result.findings, roots_of(result.findings)
    marks = _marks(recording, findings)
    seen = {marks[root][0] for root in roots} & set(baseline)
    kept: list[Finding] = []
    known: dict[str, int] = {}
    for index, finding in enumerate(findings):
        fresh = None
        if _counts(finding):
            found = marks[index][1:]
            seen |= {mark for mark in found if mark in baseline}
            fresh = _fresh_note(result, finding, found, baseline)
            gone = fresh is None
        else:
            gone = marks[roots[index]][0] in baseline
        if gone:
            known[finding.rule] = known.get(finding.rule, 0) + _number(finding)
        else:
            kept.append(fresh or finding)
    unmatched = sum(1 for mark in baseline if mark.rule in result.laws and mark not in seen)
    return replace(result, findings=tuple(kept), known=Known(findings=known, unmatched=unmatched))


def baseline_of(result: CheckResult, recording: Recording) -> frozenset[Fingerprint]:
    """The fingerprints of the root causes that were found, and of what breaks the same law because of one; no notes.

    Which of several breaches of one law comes first differs from run to run.
    """
    findings = result.findings
    pairs = [(finding, findings[root]) for finding, root in zip(findings, roots_of(findings), strict=True)]
    kept = [finding for finding, root in pairs if finding.rule == root.rule]
    spots = [spot_of(finding) for finding in kept if finding.severity is not Severity.NOTE]
    for finding in result.findings:
        if _counts(finding):
            spots += _spots(finding)
    return frozenset(fingerprints(recording, spots))


def _counts(finding: Finding) -> bool:
    """Whether it is the note that counts a rule's other findings."""
    return finding.severity is Severity.NOTE and any(e.columns == MORE_COLUMNS for e in finding.evidence)


def _spots(note: Finding) -> Iterator[Spot]:
    pool, seq = MORE_COLUMNS.index("pool"), MORE_COLUMNS.index("seq")
    for row in note.evidence[0].rows:
        at = row[seq]
        assert isinstance(at, int)
        yield Spot(note.rule, note.process, None if row[pool] is None else str(row[pool]), at)


def _marks(recording: Recording, findings: Sequence[Finding]) -> list[list[Fingerprint]]:
    """The fingerprint of each finding, then those of what it counts; the recording is read once for all."""
    spots = [[spot_of(finding), *(_spots(finding) if _counts(finding) else ())] for finding in findings]
    marks = iter(fingerprints(recording, [spot for each in spots for spot in each]))
    return [list(islice(marks, len(each))) for each in spots]


def _number(finding: Finding) -> int:
    """How many findings it stands for."""
    return finding.folded if _counts(finding) else 1


def _fresh_note(
    result: CheckResult, note: Finding, found: list[Fingerprint], baseline: Collection[Fingerprint]
) -> Finding | None:
    """What is left of such a note, None if the baseline knows all that it counts."""
    listed = len(found)
    fresh, more = sum(mark not in baseline for mark in found), note.folded - listed
    if not fresh and not more:
        return None
    said = [f"{fresh} of them are not in the baseline"] if fresh else []
    said += [f"{more} of them were not compared with it"] if more else []
    message = f"{note.message}; {', '.join(said)}"
    return replace(note, severity=result.laws[note.rule].severity, message=message)
