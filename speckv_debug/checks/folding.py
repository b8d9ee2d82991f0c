"""Few findings out of many: repeats folded into the first, consequences tied to what they follow from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from speckv_debug.checks.rule import RULES, Indices, Scope
from speckv_debug.model.finding import Finding

FINDINGS_A_RULE = 200
"""Distinct findings of one rule in one process; what comes later is counted in the last one's `repeats`."""


OF_THE_BATCH = ("ACC-COUNT", "MOV-MISSING")
"""Rules whose findings reach the other requests of the step: a wrong count shifts the lists packed behind it, and a
mover call that is missing is missing for all."""


@dataclass(slots=True)
class Fold:
    """The first broken instance of a group and how many followed it."""

    index: int
    repeats: int = 0


def folded(scope: Scope, failed: Indices) -> list[Fold]:
    """Group broken instances by kind, pool and request (its row where it has no name), in the order of `seq`."""
    groups: dict[tuple[object, ...], Fold] = {}
    last: Fold | None = None
    for index in failed.tolist():
        key = _key(scope, index)
        if (group := groups.get(key)) is not None:
            group.repeats += 1
        elif len(groups) < FINDINGS_A_RULE:
            last = groups[key] = Fold(index)
        elif last is not None:
            last.repeats += 1
    return list(groups.values())


def _key(scope: Scope, index: int) -> tuple[object, ...]:
    place, kind = scope.place(index), getattr(scope, "kind", None)
    who = place.request if place.request is not None else (place.row, place.epoch)
    return (kind(index) if kind else "", place.pool, who)


def with_causes(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Tie each finding to the nearest one before it, in the order given, of a rule that it follows.

    Findings of one rule about one event (a call for the whole batch) have one cause: the first of them.
    """
    before: dict[str, list[Finding]] = {}
    for finding in findings:
        follows = RULES[finding.rule].follows if finding.rule in RULES else ()
        causes = [
            *_nearest(before, follows, finding, _related),
            *_nearest(before, (finding.rule,), finding, _same_event),
        ]
        before.setdefault(finding.rule, []).append(finding)
        if causes:
            finding = replace(finding, cause=max(cause.first_seq for cause in causes))
        yield finding


def _nearest(
    before: Mapping[str, list[Finding]],
    rules: Iterable[str],
    then: Finding,
    tied: Callable[[Finding, Finding], bool],
) -> Iterator[Finding]:
    """The last finding of each rule that is tied to `then`."""
    for rule in rules:
        for first in reversed(before.get(rule, ())):
            if first.process == then.process and tied(first, then):
                yield first
                break


def _same_event(first: Finding, then: Finding) -> bool:
    return first.first_seq == then.first_seq


def _related(first: Finding, then: Finding) -> bool:
    if first.request is not None and first.request == then.request:
        return True
    if first.rule in OF_THE_BATCH and first.step is not None and first.step == then.step:
        return True
    return _overlap(first.slots, then.slots) or _overlap(first.pages, then.pages)


def _overlap(first: tuple[int, ...] | None, then: tuple[int, ...] | None) -> bool:
    return bool(first and then and set(first) & set(then))
