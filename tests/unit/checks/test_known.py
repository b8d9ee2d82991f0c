"""What a configuration makes of severities, and which findings a baseline takes out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from speckv_debug.checks.fingerprint import Fingerprint
from speckv_debug.checks.folding import MORE_COLUMNS
from speckv_debug.checks.known import adjusted, without_known
from speckv_debug.model.finding import CheckResult, Evidence, Finding, Law, Severity
from speckv_debug.replay.view import Recording

NOWHERE = cast(Recording, SimpleNamespace(processes=(), manifest={}))
"""No event is at hand: fingerprints are rule and pool."""


def finding(rule: str = "ACC-COUNT", severity: Severity = Severity.ERROR, **facts: Any) -> Finding:
    return Finding(rule=rule, severity=severity, process="p", message="m", **facts)


def counting(*pools: str, more: int = 0) -> Finding:
    """The note that counts findings in these pools, and some that it doesn't list."""
    rows = tuple((None, None, None, pool, None, at, 1) for at, pool in enumerate(pools))
    listed = Evidence(title="where else", columns=MORE_COLUMNS, rows=rows)
    return finding(severity=Severity.NOTE, evidence=(listed,), folded=len(pools) + more)


def result(*findings: Finding, rule_severity: Severity = Severity.ERROR) -> CheckResult:
    laws = {f.rule: Law(rule=f.rule, severity=rule_severity, law="law") for f in findings}
    return CheckResult(findings=findings, checked={"ACC-COUNT": 9}, laws=laws)


def severities(found: CheckResult) -> list[Severity]:
    return [each.severity for each in found.findings]


def test_notes_stay_notes() -> None:
    found = result(finding(), finding(severity=Severity.NOTE), counting("full"))
    changed = adjusted(found, {"ACC-COUNT": Severity.WARNING, "ACC-SHIFT": Severity.NOTE})
    assert severities(changed) == [Severity.WARNING, Severity.NOTE, Severity.NOTE]
    assert changed.laws["ACC-COUNT"].severity is Severity.WARNING


def test_a_rule_of_notes_can_be_raised() -> None:
    found = result(finding(severity=Severity.NOTE), counting("full"), rule_severity=Severity.NOTE)
    changed = adjusted(found, {"ACC-COUNT": Severity.ERROR})
    assert severities(changed) == [Severity.ERROR, Severity.NOTE]
    assert (found.verdict, changed.verdict) == ("clean", "findings")


def test_entries_of_rules_that_did_not_run_are_not_missed() -> None:
    baseline = {Fingerprint("ACC-COUNT", "swa"), Fingerprint("OWN-LEAK")}
    left = without_known(result(finding(pool="full")), NOWHERE, baseline)
    assert left.known is not None and (left.known.total, left.known.unmatched) == (0, 1)


def test_a_note_that_counts_known_findings_alone_is_known() -> None:
    baseline = {Fingerprint("ACC-COUNT", "full"), Fingerprint("ACC-COUNT", "swa")}
    left = without_known(result(finding(pool="full"), counting("full", "swa")), NOWHERE, baseline)
    assert (left.findings, left.verdict) == ((), "clean")
    assert left.known is not None and left.known.findings == {"ACC-COUNT": 3} and not left.known.unmatched


def test_a_note_that_hides_something_new_is_a_finding() -> None:
    baseline = {Fingerprint("ACC-COUNT", "full")}
    for note, said in (
        (counting("full", "swa"), "1 of them are not in the baseline"),
        (counting("full", more=2), "2 of them were not compared with it"),
    ):
        (left,) = without_known(result(finding(pool="full"), note), NOWHERE, baseline).findings
        assert (left.severity, said in left.message) == (Severity.ERROR, True)


def test_a_consequence_of_something_new_stays_though_its_like_is_known() -> None:
    found = result(finding("ACC-COUNT", first_seq=1), finding("OWN-LEAK", first_seq=2, cause=1))
    left = without_known(found, NOWHERE, {Fingerprint("OWN-LEAK")})
    assert [each.rule for each in left.findings] == ["ACC-COUNT", "OWN-LEAK"]
    assert not without_known(found, NOWHERE, {Fingerprint("ACC-COUNT")}).findings
