"""Feed each rule the scope that it asked for; collect findings, unknowns and how much was judged."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from speckv_debug.checks import RULES
from speckv_debug.checks.folding import FINDINGS_A_RULE, Fold, counted, folded, with_causes
from speckv_debug.checks.missing import Loss, absent, dropped_rows, losses, lost
from speckv_debug.checks.rule import Details, Indices, Judgement, Rule, Scope
from speckv_debug.errors import UsageError
from speckv_debug.model.finding import CheckResult, Finding, Law, Unknown
from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.view import ProcessView, Recording, views

OnError = Callable[[str, Exception], None]
NEAR = 0.5
"""How alike a misspelt rule id must be to be suggested, of 1."""
NOTHING: Indices = np.empty(0, dtype=np.int64)


@dataclass(slots=True)
class Outcome:
    """What one or more rules said, while it is being collected."""

    findings: list[Finding] = field(default_factory=list)
    unknown: Counter[tuple[str, str]] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)


def check(
    recording: Recording,
    *,
    only: Collection[str] = (),
    ignore: Collection[str] = (),
    on_error: OnError = lambda rule, error: None,
) -> CheckResult:
    """Judge a recording by the laws.

    Args:
        recording: An opened recording.
        only: Rule ids to run, all if empty.
        ignore: Rule ids to leave out.
        on_error: Told of a rule that raised; its instances are unknown.

    Raises:
        UsageError: A rule id that does not exist.
    """
    rules, outcome = select(only, ignore), Outcome()
    for view in views(recording):
        found = _judge_process(view, rules, outcome, on_error)
        outcome.findings += with_causes(found, Namespaces(view.info).share_ids)
    return CheckResult(
        findings=tuple(outcome.findings),
        unknown=tuple(Unknown(rule=rule, why=why, instances=n) for (rule, why), n in outcome.unknown.items()),
        checked=dict(outcome.checked),
        laws={r.id: Law(rule=r.id, severity=r.severity, law=r.law, look_at=r.look_at) for r in rules},
    )


def select(only: Collection[str], ignore: Collection[str]) -> tuple[Rule, ...]:
    """The rules to run, in the order of the catalogue.

    Raises:
        UsageError: A rule id that does not exist.
    """
    for id in (*only, *ignore):
        named(id)
    chosen, left_out = {id.upper() for id in only}, {id.upper() for id in ignore}
    return tuple(r for id, r in RULES.items() if (not chosen or id in chosen) and id not in left_out)


def named(id: str) -> Rule:
    """The rule of that id, in any case.

    Raises:
        UsageError: There is none; the message names the nearest.
    """
    if (rule := RULES.get(id.upper())) is not None:
        return rule
    near = difflib.get_close_matches(id.upper(), RULES, n=1, cutoff=NEAR)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise UsageError(f"there is no rule {id!r}", f"{hint}`speckv-debug rules` lists all.")


def _judge_process(
    view: ProcessView, rules: tuple[Rule, ...], outcome: Outcome, on_error: OnError
) -> list[Finding]:
    found, missing = [], losses(view)
    for rule in rules:
        outcome.checked[rule.id] += 0
        found += _judge(rule, view, missing, outcome, on_error)
    order = list(RULES)
    return sorted(found, key=lambda f: (f.first_seq, order.index(f.rule)))


def _judge(
    rule: Rule, view: ProcessView, missing: tuple[Loss, ...], outcome: Outcome, on_error: OnError
) -> list[Finding]:
    """Run one rule on one process; whatever it raises makes its instances unknown."""
    instances = 0
    try:
        scope: Scope = getattr(view, rule.scope)
        instances = len(scope)
        if (why := absent(view, rule)) is not None:
            outcome.unknown[rule.id, why] += instances
            return []
        if (rows := dropped_rows(view, rule)) > 0:
            outcome.unknown[rule.id, f"the recorder dropped rows of {rule.needs[0]}"] += rows
        return _judge_scope(rule, view, scope, missing, outcome, on_error)
    except Exception as error:  # noqa: BLE001 - a rule that fails must not take the others with it
        on_error(rule.id, error)
        outcome.unknown[rule.id, f"the rule raised {type(error).__name__}: {error}"] += instances
        return []


def _judge_scope(
    rule: Rule,
    view: ProcessView,
    scope: Scope,
    missing: tuple[Loss, ...],
    outcome: Outcome,
    on_error: OnError,
) -> list[Finding]:
    verdict = rule.check(scope)
    unknown = _all_unknown(verdict, lost(scope, rule, missing))
    hidden = np.concatenate((NOTHING, *unknown.values()))
    failed = np.setdiff1d(verdict.failed, hidden)
    folds = folded(scope, failed)
    findings = [_finding(rule, view, scope, fold, verdict, on_error) for fold in folds[:FINDINGS_A_RULE]]
    findings += counted(rule.id, view.label, scope, folds[FINDINGS_A_RULE:])
    for why, indices in unknown.items():
        outcome.unknown[rule.id, why] += len(indices)
    outcome.checked[rule.id] += len(scope) - len(hidden)
    return findings


def _all_unknown(verdict: Judgement, lost_: Mapping[str, Indices]) -> Mapping[str, Indices]:
    """Both kinds of unknown, each instance once; what is lost comes first."""
    gone = np.concatenate((NOTHING, *lost_.values()))
    unknown = dict(lost_)
    for why, indices in verdict.unknown.items():
        if len(rest := np.setdiff1d(indices, gone)):
            unknown[why] = np.concatenate((unknown.get(why, NOTHING), rest))
            gone = np.concatenate((gone, rest))
    return unknown


def _finding(
    rule: Rule, view: ProcessView, scope: Scope, fold: Fold, verdict: Judgement, on_error: OnError
) -> Finding:
    details = _explained(rule, fold.index, verdict, on_error)
    place = details.place or scope.place(fold.index)
    return Finding(
        rule=rule.id,
        severity=details.severity or rule.severity,
        process=view.label,
        first_seq=place.seq,
        repeats=fold.repeats,
        expected=details.expected,
        actual=details.actual,
        slots=details.slots,
        pages=details.pages,
        evidence=details.evidence,
        message=details.message,
        ranks=details.extra.get("ranks"),
        step=place.step,
        request=place.request,
        row=place.row,
        epoch=place.epoch,
        pool=place.pool,
    )


def _explained(rule: Rule, index: int, verdict: Judgement, on_error: OnError) -> Details:
    try:
        return verdict.explain(index)
    except Exception as error:  # noqa: BLE001 - the law is broken all the same
        on_error(rule.id, error)
        return Details(message=f"Broken: {rule.law}")
