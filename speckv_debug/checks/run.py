"""Feed each rule the scope that it asked for; collect findings, unknowns and how much was judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from speckv_debug.checks import RULES
from speckv_debug.checks.explaining import OnError, finding_of
from speckv_debug.checks.folding import FINDINGS_A_RULE, counted, folded, with_causes
from speckv_debug.checks.missing import Loss, absent, dropped_rows, left_out, losses, lost, not_performed
from speckv_debug.checks.progress import OnProgress, Progress
from speckv_debug.checks.rule import Indices, Rule, Scope
from speckv_debug.checks.selection import Replay, select
from speckv_debug.checks.untold import not_said, untold
from speckv_debug.checks.windowed import WindowVerdict, judge_windows
from speckv_debug.model.finding import CheckResult, Finding, Law, Unknown
from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.recompute import require_device
from speckv_debug.replay.view import ProcessView, Recording, views

NOTHING: Indices = np.empty(0, dtype=np.int64)
LEFT_OUT = "not performed by this release of the engine"


@dataclass(slots=True)
class Outcome:
    """What one or more rules could judge, while it is being counted."""

    unknown: Counter[tuple[str, str]] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)


def check(
    recording: Recording,
    *,
    only: Collection[str] = (),
    ignore: Collection[str] = (),
    replay: Replay = "on",
    device: str = "cpu",
    on_error: OnError = lambda rule, error: None,
    on_progress: OnProgress = lambda share: None,
    on_laws: Callable[[CheckResult], None] = lambda so_far: None,
) -> CheckResult:
    """Judge a recording by the laws, then by what the kernels make of its inputs.

    torch is imported when the laws have judged all processes, for a GPU before: that there is none shows at once.

    Args:
        recording: An opened recording.
        only: Rule ids to run, all if empty.
        ignore: Rule ids to leave out.
        replay: Whether rules that run the kernels are among them, or are all.
        device: Where the kernels run, `cpu` or `cuda`.
        on_error: Told of a rule that raised; its instances are unknown.
        on_progress: Told from time to time which share of the work is done.
        on_laws: Told what the laws found, if replay comes behind them.

    Raises:
        UsageError: A rule id that does not exist or that `replay` leaves out, or a device that can't be used.
    """
    rules, outcome = select(only, ignore, replay), Outcome()
    if any(rule.replays for rule in rules):
        require_device(device)
    looked_at = views(recording, device)
    progress = Progress(on_progress, len(looked_at), len(rules))
    found: list[list[Finding]] = [[] for _ in looked_at]
    parts = [part for replays in (False, True) if (part := tuple(r for r in rules if r.replays is replays))]
    for part in parts:
        for view, findings in zip(looked_at, found, strict=True):
            findings += _judge_process(view, part, outcome, on_error, progress)
            if len(looked_at) > 1 or part is parts[-1]:
                view.forget()
        if part is not parts[-1]:
            on_laws(_result(looked_at, found, outcome, part))
    return _result(looked_at, found, outcome, rules)


def _result(
    looked_at: Sequence[ProcessView], found: Sequence[list[Finding]], outcome: Outcome, rules: Sequence[Rule]
) -> CheckResult:
    """What was found so far, with what follows from what."""
    return CheckResult(
        findings=tuple(
            finding
            for view, findings in zip(looked_at, found, strict=True)
            for finding in with_causes(_in_order(findings), Namespaces(view.info).share_ids)
        ),
        unknown=tuple(Unknown(rule=rule, why=why, instances=n) for (rule, why), n in outcome.unknown.items()),
        checked=dict(outcome.checked),
        laws={r.id: Law(rule=r.id, severity=r.severity, law=r.law, look_at=r.look_at) for r in rules},
    )


def _judge_process(
    view: ProcessView, rules: tuple[Rule, ...], outcome: Outcome, on_error: OnError, progress: Progress
) -> Iterator[Finding]:
    """What the laws, or the rules of replay, find in a process; in windows those that can, where nothing is missing."""
    judged = judge_windows(view, rules, on_error, progress)
    missing = losses(view)
    progress.read(0.0 if judged else 1.0, len(rules))
    for number, rule in enumerate(rules, start=1):
        outcome.checked[rule.id] += 0
        if not missing and (verdict := judged.get(rule.id)) is not None:
            yield from _taken_over(rule, view, verdict, outcome)
        else:
            yield from _judge(rule, view, missing, outcome, on_error)
        progress.rule_done()
        if judged:
            view.let_go(rule.scope, {later.scope for later in rules[number:]})


def _taken_over(rule: Rule, view: ProcessView, judged: WindowVerdict, outcome: Outcome) -> Iterator[Finding]:
    """What the rule said of all windows."""
    if (why := absent(view, rule)) is not None:
        outcome.unknown[rule.id, why] += judged.instances
        return
    if (verifies := not_performed(view, rule)) > 0:
        outcome.unknown[rule.id, LEFT_OUT] += verifies
    for reason, count in judged.unknown.items():
        outcome.unknown[rule.id, reason] += count
    outcome.checked[rule.id] += judged.instances - judged.unknown.total()
    yield from judged.findings(rule.id, view.label)


def _in_order(findings: list[Finding]) -> list[Finding]:
    """By event; findings about one event in the order of the catalogue."""
    order = list(RULES)
    return sorted(findings, key=lambda f: (f.first_seq, order.index(f.rule)))


def _judge(
    rule: Rule, view: ProcessView, missing: tuple[Loss, ...], outcome: Outcome, on_error: OnError
) -> list[Finding]:
    """Run one rule on one process; whatever it raises makes its instances unknown."""
    instances = 0
    try:
        scope: Scope = getattr(view, rule.scope)
        instances = len(scope)
        for odd, events in left_out(view, rule, scope).items():
            outcome.unknown[rule.id, odd] += events
        if (why := absent(view, rule)) is not None:
            outcome.unknown[rule.id, why] += instances
            return []
        if instances and rule.replays and (why := view.kernels.missing) is not None:
            outcome.unknown[rule.id, why] += instances
            return []
        if (rows := dropped_rows(view, rule)) > 0:
            outcome.unknown[rule.id, f"the recorder dropped rows of {rule.needs[0]}"] += rows
        if (verifies := not_performed(view, rule)) > 0:
            outcome.unknown[rule.id, LEFT_OUT] += verifies
        for unsaid, events in not_said(scope).items():
            outcome.unknown[rule.id, unsaid] += events
        if not instances:  # nothing is read to say nothing
            return []
        return _judge_scope(rule, view, scope, missing, outcome, on_error)
    except Exception as error:  # noqa: BLE001 - a rule that fails must not take the others with it
        on_error(rule.id, error)
        count = instances or _events(view, rule)
        outcome.unknown[rule.id, f"the rule raised {type(error).__name__}: {error}"] += count
        return []


def _events(view: ProcessView, rule: Rule) -> int:
    """Events of the first table that a rule needs, one at least: what is counted where its instances can't be."""
    tables = [need.partition(":")[0] for need in rule.needs[:1]]
    return max(1, sum(len(view.columns(table)) for table in tables))


def _judge_scope(
    rule: Rule,
    view: ProcessView,
    scope: Scope,
    missing: tuple[Loss, ...],
    outcome: Outcome,
    on_error: OnError,
) -> list[Finding]:
    verdict = rule.check(scope)
    unknown = _all_unknown(lost(scope, rule, missing), untold(view, scope), verdict.unknown)
    hidden = np.concatenate((NOTHING, *unknown.values()))
    failed = np.setdiff1d(verdict.failed, hidden)
    folds = folded(scope, failed)
    findings = [finding_of(rule, view, scope, fold, verdict, on_error) for fold in folds[:FINDINGS_A_RULE]]
    findings += counted(rule.id, view.label, scope, folds[FINDINGS_A_RULE:])
    for why, indices in unknown.items():
        outcome.unknown[rule.id, why] += len(indices)
    outcome.checked[rule.id] += len(scope) - len(hidden)
    return findings


def _all_unknown(*kinds: Mapping[str, Indices]) -> Mapping[str, Indices]:
    """All kinds of unknown, each instance once, with the first reason."""
    gone, unknown = NOTHING, dict[str, Indices]()
    for why, indices in chain.from_iterable(kind.items() for kind in kinds):
        if len(rest := np.setdiff1d(indices, gone)):
            unknown[why] = np.concatenate((unknown.get(why, NOTHING), rest))
            gone = np.concatenate((gone, rest))
    return unknown
