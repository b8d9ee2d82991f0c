"""Judge a long recording window by window, by the rules whose instances do not look beyond their step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from speckv_debug.checks.explaining import OnError, finding_of
from speckv_debug.checks.folding import FINDINGS_A_RULE, NAMED_MORE, Fold, counted, fold_key
from speckv_debug.checks.progress import Progress
from speckv_debug.checks.rule import Rule, Scope
from speckv_debug.checks.untold import lacks
from speckv_debug.model.finding import Finding
from speckv_debug.replay.places import Place
from speckv_debug.replay.settlements import Settlements
from speckv_debug.replay.view import ProcessView
from speckv_debug.replay.windows import SCOPES, WindowView, windows

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
    local = [rule for rule in rules if rule.scope in SCOPES]
    if any(rule.replays for rule in local) and view.kernels.missing is not None:
        return {}
    found = {rule.id: WindowVerdict() for rule in local}
    judged = False
    for window in windows(view) if local else ():
        judged = True
        progress.read(window.share, len(rules))
        for rule in local:
            _judge_window(rule, window, found[rule.id], on_error)
    return {id: verdict for id, verdict in found.items() if judged and not verdict.whole}


def _judge_window(rule: Rule, window: WindowView, found: WindowVerdict, on_error: OnError) -> None:
    if found.whole:
        return
    try:
        scope: Scope = getattr(window, rule.scope)
        found.whole = _looks_further(scope, found) or any(lacks(window, scope))
        if not found.whole:
            _judge_scope(rule, window, scope, found, on_error)
    except Exception:  # noqa: BLE001 - it raises again, and is told, when it sees the process whole
        found.whole = True


def _judge_scope(
    rule: Rule, window: WindowView, scope: Scope, found: WindowVerdict, on_error: OnError
) -> None:
    verdict = rule.check(scope)
    found.instances += len(scope)
    hidden = np.zeros(len(scope), dtype=np.bool_)
    for why, indices in verdict.unknown.items():
        found.unknown[why] += int(np.count_nonzero(~hidden[indices]))
        hidden[indices] = True
    failed = verdict.failed[~hidden[verdict.failed]]
    found.whole = rule.id in LOOKING_BACK and len(failed) > 0
    for index in failed.tolist():
        key = fold_key(scope, index)
        if (fold := found.folds.get(key)) is not None:
            fold.repeats += 1
            continue
        found.folds[key] = Fold(len(found.folds))
        if len(found.folds) <= FINDINGS_A_RULE:
            found.explained.append(finding_of(rule, window, scope, Fold(index), verdict, on_error))
        elif len(found.more) < NAMED_MORE:
            found.more.append(scope.place(index))


def _looks_further(scope: Scope, found: WindowVerdict) -> bool:
    """Rows that no call of their step moves may be moved later; tensors compacted in some windows are due in all."""
    if not isinstance(scope, Settlements) or not len(scope):
        return False
    before, found.tensors = found.tensors, scope.tensors
    return bool(len(scope.suspects)) or before not in (None, scope.tensors)
