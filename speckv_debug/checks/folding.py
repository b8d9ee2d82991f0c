"""Few findings out of many: repeats folded into the first, consequences tied to what they follow from."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from speckv_debug.checks.rule import RULES, Indices, Scope
from speckv_debug.model.finding import Cell, Evidence, Finding, Severity
from speckv_debug.model.text import plural, quantity

FINDINGS_A_RULE = 200
"""Findings of one rule in one process that are explained one by one; a note counts and names the others."""
NAMED_MORE = 1000
"""Of those others, how many the note lists."""
NEAR = 64
"""Steps within which findings that share only a slot are tied: later the slot has other holders."""
MORE_COLUMNS = ("request", "row", "epoch", "pool", "step", "seq", "instances")
"""What the note says of each of them."""
Tie = Callable[[Finding, Finding], bool]
"""Whether the first of two findings may be the cause of the second."""
OF_THE_BATCH = ("ACC-COUNT", "ACC-SHIFT", "MOV-MISSING", "LOC-ROW", "LEN-READ")
"""Rules whose findings reach the other requests of the step: a wrong count shifts the lists packed behind it, a wrong
stride all that is read behind it, a mover call that is missing is missing for all, and a batch has one buffer of
addresses and of lengths."""
OF_THE_ROW = ("OWN-ROW", "LOC-WIDTH")
"""Rules whose findings reach all that is done in the row afterwards, whichever request does it."""
OF_THE_TABLE = ("LOC-WIDTH",)
"""Rules about a measure that all rows share: that it is too small for one request is why it is for another."""
OF_THE_POOL = ("OWN-CONSERVE",)
"""Rules about a sum over all requests: any earlier breach of the laws that they follow upsets it."""

EARLY = ("LOC-OWNED",)
"""Laws that see what is wrong at a forward, where the one that names the cause is judged at its accept."""


@dataclass(slots=True)
class Fold:
    """The first broken instance of a group and how many followed it."""

    index: int
    repeats: int = 0


def folded(scope: Scope, failed: Indices) -> list[Fold]:
    """Group broken instances by kind, pool and request (its row where it has no name), in the order of `seq`."""
    groups: dict[tuple[object, ...], Fold] = {}
    for index in failed.tolist():
        key = fold_key(scope, index)
        if (group := groups.get(key)) is not None:
            group.repeats += 1
        else:
            groups[key] = Fold(index)
    return list(groups.values())


def counted(rule: str, process: str, scope: Scope, more: Sequence[Fold]) -> Iterator[Finding]:
    """A note that counts and names what the rule's findings leave out; none if nothing is left out."""
    if not more:
        return
    rows: list[tuple[Cell, ...]] = []
    for fold in more[:NAMED_MORE]:
        at = scope.place(fold.index)
        rows.append((at.request, at.row, at.epoch, at.pool, at.step, at.seq, 1 + fold.repeats))
    broken = sum(1 + fold.repeats for fold in more)
    left_out = f", the first {NAMED_MORE} of {len(more)}" if len(more) > NAMED_MORE else ""
    yield Finding(
        rule=rule,
        severity=Severity.NOTE,
        process=process,
        first_seq=scope.place(more[0].index).seq,
        folded=len(more),
        message=f"{quantity(len(more), 'more finding')}, {quantity(broken, 'broken instance')}, {plural(len(more), 'is', 'are')} counted here "
        f"and not explained one by one",
        evidence=(
            Evidence(
                title=f"where else the law is broken{left_out}",
                columns=MORE_COLUMNS,
                rows=tuple(rows),
            ),
        ),
    )


def fold_key(scope: Scope, index: int) -> tuple[object, ...]:
    """What instances have in common that are folded into one finding."""
    place, kind = scope.place(index), getattr(scope, "kind", None)
    who = place.request if place.request is not None else (place.row, place.epoch)
    return (kind(index) if kind else "", place.pool, who)


def with_causes(
    findings: Sequence[Finding], same_ids: Callable[[str | None, str | None], bool] = operator.eq
) -> Iterator[Finding]:
    """Tie each finding to the nearest one before it, in the order given, of a rule that it follows.

    Findings of one rule about one event (a call for the whole batch) have one cause: the first of them. A finding of
    replay, or of an `EARLY` law, that nothing before it explains is tied to a law's later finding of the same step, else to
    a later one of replay: the event that breaks the law may come behind the one that was replayed. A note has no cause and
    is none.

    Args:
        findings: Of one process, in order.
        same_ids: Whether a slot id means the same in two pools, by their names.
    """

    def related(first: Finding, then: Finding) -> bool:
        if then.rule in OF_THE_POOL:
            return _near(first, then)
        if first.rule == then.rule and first.rule in OF_THE_TABLE:
            return True
        if first.rule in OF_THE_ROW and first.row is not None and first.row == then.row:
            return _near(first, then)
        return _by_request(first, then) or (same_ids(first.pool, then.pool) and _by_slots(first, then))

    tied = list(_with_earlier(findings, related))
    of_step: dict[int | None, list[Finding]] = {}
    for finding in tied:
        if finding.severity is not Severity.NOTE:
            of_step.setdefault(finding.step, []).append(finding)
    for findings_of_one in of_step.values():
        findings_of_one.sort(key=_replays)
    for finding in tied:
        early = _replays(finding) or finding.rule in EARLY
        if early and finding.cause is None and None not in (finding.step, finding.request):
            yield _with_later(finding, of_step.get(finding.step, ()), related)
        else:
            yield finding


def _with_earlier(findings: Sequence[Finding], related: Tie) -> Iterator[Finding]:
    before: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.severity is Severity.NOTE:
            yield finding
            continue
        causes = [
            *_nearest(before, _follows(finding), finding, related),
            *_nearest(before, (finding.rule,), finding, _same_event),
        ]
        before.setdefault(finding.rule, []).append(finding)
        if causes:
            finding = replace(finding, cause=max(cause.first_seq for cause in causes))
        yield finding


def _with_later(finding: Finding, of_step: Iterable[Finding], related: Tie) -> Finding:
    """Tied to the first of a step's findings that explains it, or to what that one follows from."""
    for first in of_step:
        if first.rule in _follows(finding) and related(first, finding):
            return replace(finding, cause=first.first_seq if first.cause is None else first.cause)
    return finding


def _follows(finding: Finding) -> tuple[str, ...]:
    return RULES[finding.rule].follows if finding.rule in RULES else ()


def _replays(finding: Finding) -> bool:
    return finding.rule in RULES and RULES[finding.rule].replays and finding.severity is not Severity.NOTE


def _nearest(
    before: Mapping[str, list[Finding]],
    rules: Iterable[str],
    then: Finding,
    tied: Tie,
) -> Iterator[Finding]:
    """The last finding of each rule that is tied to `then`."""
    for rule in rules:
        for first in reversed(before.get(rule, ())):
            if first.process == then.process and tied(first, then):
                yield first
                break


def _same_event(first: Finding, then: Finding) -> bool:
    return first.first_seq == then.first_seq


def _by_request(first: Finding, then: Finding) -> bool:
    if first.request is not None and first.request == then.request and not _another_life(first, then):
        return True
    return first.rule in OF_THE_BATCH and first.step is not None and first.step == then.step


def _another_life(first: Finding, then: Finding) -> bool:
    """The request started over with a new row in between: its KV was computed anew."""
    lives = (first.row, first.epoch), (then.row, then.epoch)
    return None not in (*lives[0], *lives[1]) and lives[0] != lives[1]


def _near(first: Finding, then: Finding) -> bool:
    return first.step is None or then.step is None or abs(then.step - first.step) <= NEAR


def _by_slots(first: Finding, then: Finding) -> bool:
    return _near(first, then) and (_overlap(first.slots, then.slots) or _overlap(first.pages, then.pages))


def _overlap(first: tuple[int, ...] | None, then: tuple[int, ...] | None) -> bool:
    return bool(first and then and set(first) & set(then))
