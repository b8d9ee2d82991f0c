"""Judge a long recording window by window, by the rules whose instances do not look beyond their step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from speckv_debug.checks.explaining import OnError, finding_of
from speckv_debug.checks.folding import FINDINGS_A_RULE, NAMED_MORE, Fold, counted, fold_key
from speckv_debug.checks.plain import PlainRules, unknown_of
from speckv_debug.checks.progress import Progress
from speckv_debug.checks.rule import Indices, Rule, Scope
from speckv_debug.checks.untold import lacks, not_said
from speckv_debug.model.finding import Finding
from speckv_debug.replay.carried import Carried
from speckv_debug.replay.compactions import Compactions
from speckv_debug.replay.components import MovedComponents
from speckv_debug.replay.ledger_stream import LedgerStream
from speckv_debug.replay.ownership import SCOPES as OF_LEDGER
from speckv_debug.replay.places import Place
from speckv_debug.replay.settlements import Settlements
from speckv_debug.replay.view import ProcessView
from speckv_debug.replay.windows import OF_LIVES, SCOPES, SPARING, WindowView, windows

LOOKING_BACK = ("LOC-ROW",)
"""Rules whose findings name an earlier step: where they have any, they see the process whole."""


@dataclass(slots=True)
class WindowVerdict:
    """What one rule said of the windows so far.

    Attributes:
        whole: The rule can't be judged by windows after all: it raised, or an instance looks further.
        folds: Broken instances by what they have in common; `index` is the number of the fold.
    """

    instances: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    whole: bool = False
    folds: dict[tuple[object, ...], Fold] = field(default_factory=dict)
    explained: list[Finding] = field(default_factory=list)
    more: list[Place] = field(default_factory=list)
    tensors: frozenset[str] | None = None

    def findings(self, rule: str, process: str) -> Iterator[Finding]:
        """The findings about all windows, as if they were one."""
        folds = list(self.folds.values())
        for finding, fold in zip(self.explained, folds, strict=False):
            yield replace(finding, repeats=fold.repeats)
        later = [replace(fold, index=fold.index - FINDINGS_A_RULE) for fold in folds[FINDINGS_A_RULE:]]
        yield from counted(rule, process, _Places(self.more), later)


class _Places:
    """The places of broken instances that are counted and not explained."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    def place(self, index: int) -> Place:
        return self._places[index]


def judge_windows(
    view: ProcessView, rules: Sequence[Rule], on_error: OnError, progress: Progress
) -> dict[str, WindowVerdict]:
    """What rules said of a process window by window; nothing of rules that have to see it whole, or of short ones.

    All are laws, or all are of replay; without kernels the latter are left to say so.
    """
    local, of_lives, of_ledger = (
        [rule for rule in rules if rule.scope in scopes] for scopes in (SCOPES, OF_LIVES, OF_LEDGER)
    )
    if any(rule.replays for rule in local) and view.kernels.missing is not None:
        return {}
    found = {rule.id: WindowVerdict() for rule in (*local, *of_lives, *of_ledger)}
    lives, ledger = LifeRules(view, of_lives, found, on_error), LedgerRules(view, of_ledger, found)
    judged = False
    keep = any(rule.id not in found and rule.scope not in SPARING for rule in rules)
    for window in _carried_on(windows(view, keep=keep) if found else iter(()), lives, ledger):
        judged = True
        progress.read(window.share, len(rules))
        for rule in local:
            judge_window(rule, window, window, found[rule.id], on_error)
    for window in windows(view, keep=False) if lives.begin_again() else ():
        lives.judge(window)
        window.close()
    ledger.finish(judged)
    return {id: verdict for id, verdict in found.items() if judged and not verdict.whole}


def _carried_on(coming: Iterator[WindowView], lives: LifeRules, ledger: LedgerRules) -> Iterator[WindowView]:
    """The windows, while lives and ledger go on from one to the next on a thread of their own, up to a window behind.

    NumPy and compiled code let the others run. Each window is closed when both are done with it.
    """
    behind: tuple[WindowView, Future[None]] | None = None
    with ThreadPoolExecutor(1) as beside:
        for window in coming:
            going_on = beside.submit(_carry_on, window, lives, ledger)
            yield window
            if behind is not None:
                _close(*behind)
            behind = window, going_on
        if behind is not None:
            _close(*behind)


def _carry_on(window: WindowView, lives: LifeRules, ledger: LedgerRules) -> None:
    lives.judge(window)
    ledger.judge(window)


def _close(window: WindowView, going_on: Future[None]) -> None:
    going_on.result()
    window.close()


def judge_window(
    rule: Rule,
    window: WindowView,
    view: ProcessView,
    found: WindowVerdict,
    on_error: OnError,
    since: int | None = None,
) -> None:
    """What a rule says of the scope of one window.

    Args:
        view: The window, or the window with earlier events before its own.
        since: The last `seq` before the window; of instances up to that nothing is asked.
    """
    if found.whole:
        return
    try:
        scope: Scope = getattr(view, rule.scope)
        found.whole = _looks_further(scope, found, since) or any(lacks(window, scope))
        found.whole |= since is not None and bool(not_said(scope))
        if not found.whole:
            _judge_scope(rule, window, scope, found, on_error, since)
    except Exception:  # noqa: BLE001 - it raises again, and is told, when it sees the process whole
        found.whole = True


def _judge_scope(
    rule: Rule,
    window: WindowView,
    scope: Scope,
    found: WindowVerdict,
    on_error: OnError,
    since: int | None,
) -> None:
    verdict = rule.check(scope)
    hidden = np.zeros(len(scope), dtype=np.bool_) if since is None else _seq(scope) <= since
    found.instances += len(scope) - int(np.count_nonzero(hidden))
    for unsaid, events in not_said(scope).items():
        found.unknown[unsaid] += events
        found.instances += events
    for why, indices in verdict.unknown.items():
        if count := int(np.count_nonzero(~hidden[indices])):
            found.unknown[why] += count
        hidden[indices] = True
    failed = verdict.failed[~hidden[verdict.failed]]
    found.whole = len(failed) > 0 and (since is not None or rule.id in LOOKING_BACK)
    for index in failed.tolist() if not found.whole else ():
        key = fold_key(scope, index)
        if (fold := found.folds.get(key)) is not None:
            fold.repeats += 1
            continue
        found.folds[key] = Fold(len(found.folds))
        if len(found.folds) <= FINDINGS_A_RULE:
            found.explained.append(finding_of(rule, window, scope, Fold(index), verdict, on_error))
        elif len(found.more) < NAMED_MORE:
            found.more.append(scope.place(index))


def _seq(scope: Scope) -> Indices:
    """Where the instances stand; every scope of lives says so."""
    found: Indices = getattr(scope, "seq")  # noqa: B009 - no part of what other scopes have
    return found


def _looks_further(scope: Scope, found: WindowVerdict, since: int | None) -> bool:
    """Rows that no call of their step moves may be moved later; tensors compacted in some windows are due in all; whether a
    list is cut, longer ones of other steps tell; peers of moved rows may have been told long before.
    """
    if since is not None and (further := getattr(scope, "looks_further", None)) is not None:
        return bool((further & (_seq(scope) > since)).any())
    if isinstance(scope, Compactions):
        return scope.looks_short
    if isinstance(scope, MovedComponents):
        return scope.window.looks_back
    if not isinstance(scope, Settlements) or not len(scope):
        return False
    before, found.tensors = found.tensors, scope.tensors
    return bool(len(scope.suspects)) or before not in (None, scope.tensors)


class LifeRules:
    """Rules whose instances look at earlier events of their lives; where one is broken, it sees the process whole.

    Windows that are plain are not looked at by columns. What they hold is not carried on either: where a later one is not
    plain, all windows are judged once more.
    """

    def __init__(
        self, view: ProcessView, rules: Sequence[Rule], found: dict[str, WindowVerdict], on_error: OnError
    ) -> None:
        self._rules, self._found, self._on_error = rules, found, on_error
        self._carried = Carried()
        self._plain: PlainRules | None = PlainRules(view, rules) if rules else None
        self._plain_so_far = 0
        self._late = False

    def judge(self, window: WindowView) -> None:
        """Judge the next window."""
        if self._plain is not None and (counts := self._plain.judge(window)) is not None:
            self._plain_so_far += 1
            self._count(counts)
            return
        self._plain, self._late = None, self._late or self._plain_so_far > 0
        left = [rule for rule in self._rules if not (self._late or self._found[rule.id].whole)]
        if left:
            self._look(window, left)

    def begin_again(self) -> bool:
        """Forget what was counted if a window behind plain ones was not plain: all have to be judged by columns."""
        if self._late:
            self._late, self._plain_so_far = False, 0
            self._found.update({rule.id: WindowVerdict() for rule in self._rules})
            return True
        return False

    def _count(self, counts: Mapping[str, int]) -> None:
        for rule in self._rules:
            found = self._found[rule.id]
            found.instances += counts.get(rule.scope, 0)
            found.unknown.update(unknown_of(rule.scope, counts))

    def _look(self, window: WindowView, left: Sequence[Rule]) -> None:
        try:
            view = self._carried.view(window, window.tables)
            for rule in left:
                judge_window(rule, window, view, self._found[rule.id], self._on_error, view.since)
                self._found[rule.id].whole |= rule.scope in self._carried.apart
            self._carried.turn(view, window.end)
            view.close()
        except Exception:  # noqa: BLE001 - what it is shows when the rules see the process whole
            for rule in left:
                self._found[rule.id].whole = True


class LedgerRules:
    """Rules that judge what the ledger noticed; where an instance is broken, the ledger is folded over the whole."""

    def __init__(self, view: ProcessView, rules: Sequence[Rule], found: Mapping[str, WindowVerdict]) -> None:
        self._rules, self._found = rules, found
        self._stream = LedgerStream(view.process)

    def judge(self, window: WindowView) -> None:
        """Fold the next window."""
        self._go_on(lambda: self._stream.feed(window.columns))

    def finish(self, judged: bool) -> None:
        """Say what it came to, if there was any window."""
        if judged:
            self._go_on(self._stream.finish)
        for rule in self._rules if judged else ():
            found, law = self._found[rule.id], OF_LEDGER[rule.scope]
            if not found.whole:
                counts = self._stream.counts[law]
                found.whole, found.instances = counts.broken, counts.codes.total()
                found.unknown = counts.unknown(self._stream.ledger, law)

    def _go_on(self, step: Callable[[], None]) -> None:
        if not self._rules or self._found[self._rules[0].id].whole:
            return
        try:
            step()
        except Exception:  # noqa: BLE001 - what it is shows when the ledger is folded over the whole
            for rule in self._rules:
                self._found[rule.id].whole = True
