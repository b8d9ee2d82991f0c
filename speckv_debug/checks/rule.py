"""What a rule is: a law in words, what it needs, and a function that judges columns.

A rule function takes one scope (a column-wise view of all instances of one kind in one process,
see `replay/view.py`) and returns a `Judgement`: the indices that break the law, the indices that
can't be judged, and a function that explains one broken index. No Python object is made for an
instance that keeps the law.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from speckv_debug.model.finding import Evidence, Severity
from speckv_debug.replay.places import Place

__all__ = [
    "ERROR",
    "NOTE",
    "RULES",
    "WARNING",
    "Check",
    "Details",
    "Indices",
    "Judgement",
    "Place",
    "Rule",
    "Scope",
    "rule",
    "sort_rules",
]

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
Indices = npt.NDArray[np.int64]


class Scope(Protocol):
    """All instances of one kind in one process, column-wise, in the order of `seq`.

    A scope may have more attributes, which the runner looks for:
    `spans: tuple[Indices, Indices]`, the first and last `seq` of the events that an instance's verdict rests on
    (its own event alone if there is no such attribute; an instance whose span holds a hole, a drop of a needed
    table or the end of an unclean recording is unknown); `reads: tuple[str, ...]`, tables whose loss counts beside
    those that the rule needs; `columns_from: tuple[str, ...]`, tables of which a damaged column counts beside those, and
    `at: Mapping[str, Indices]`, the instances that are events of a table; `rests_on: Mapping[str, tuple[str, ...]]`,
    columns of a table without which an event counts as lost; `not_said: Mapping[str, int]`, why → events that may be
    instances and lack the value that tells, counted as unknown; `kind(index) -> str`, which keeps instances of different kinds
    (tables, tensors) from being folded into one finding; and, where the scope is judged with earlier events of lives
    (`replay/carried.py`), `seq: Indices` and `looks_further: Mask`, instances that a window may not decide.
    """

    def __len__(self) -> int:
        """How many; a scope of replay knows it without a kernel."""

    def place(self, index: int) -> Place:
        """Where the instance `index` stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What a finding says about one broken instance; None overrides nothing of the place.

    `subject` is the pool that the finding is about, where it is another than that of the place.
    """

    message: str
    expected: str | None = None
    actual: str | None = None
    slots: tuple[int, ...] | None = None
    pages: tuple[int, ...] | None = None
    evidence: tuple[Evidence, ...] = ()
    place: Place | None = None
    subject: str | None = None
    severity: Severity | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The outcome of one rule on one scope.

    Attributes:
        failed: Indices of instances that break the law, ascending.
        unknown: Why → indices of instances that can't be judged; disjoint from each other and from `failed`.
        explain: Index → what to say about that broken instance.
    """

    failed: Indices
    explain: Callable[[int], Details]
    unknown: Mapping[str, Indices] = field(default_factory=dict)


Check = Callable[[Any], Judgement]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A law and how it is judged.

    Attributes:
        id: Such as `ACC-COUNT`; the part before the dash is the family.
        severity: Of its findings, unless `Details.severity` says otherwise.
        needs: Tables (or `table:kind`) without which every instance is unknown.
        scope: Name of the `ProcessView` attribute that holds the instances.
        look_at: The engine function to look at.
        performed: Setting by which the process says `not performed` where this release leaves out what the law is about.
        follows: Rules whose earlier finding may be the cause of this one's; for a rule of replay also a later one of
            the same step.
        law: The law in one sentence, the docstring's first line.
        doc: The rest of the docstring: legitimate exceptions, source.
    """

    id: str
    severity: Severity
    needs: tuple[str, ...]
    scope: str
    look_at: str
    follows: tuple[str, ...]
    law: str
    doc: str
    check: Check
    performed: str | None = None

    @property
    def replays(self) -> bool:
        """Whether it compares with what the kernels make of the recorded inputs, so that it needs torch."""
        return self.id.startswith(f"{REPLAY}-")


RULES: dict[str, Rule] = {}
REPLAY = "RPL"
"""The family of the rules that run the kernels."""
FAMILIES = ("ACC", "LOC", "MOV", "LEN", "OWN", "ST", "TRC", REPLAY)
"""The order of the catalogue, in which rules are listed and findings about one event are reported."""


def sort_rules() -> None:
    """Bring `RULES` into the order of the catalogue; a family keeps the order of its module, but that a rule of
    replay stands behind those of its family that it follows.
    """
    place = {family: at for at, family in enumerate(FAMILIES)}
    registered = {id: at for at, id in enumerate(RULES)}

    def key(item: tuple[str, Rule]) -> tuple[int, int, bool]:
        id, rule = item
        first = [registered[each] for each in rule.follows if rule.replays and _family(each) == _family(id)]
        last = max([registered[id], *first])
        return place.get(_family(id), len(place)), last, last != registered[id]

    ordered = sorted(RULES.items(), key=key)
    RULES.clear()
    RULES.update(ordered)


def _family(id: str) -> str:
    return id.partition("-")[0]


def rule(
    id: str,
    *,
    severity: Severity,
    needs: tuple[str, ...],
    scope: str,
    look_at: str = "",
    follows: tuple[str, ...] = (),
    performed: str | None = None,
) -> Callable[[Check], Check]:
    """Register a function as the check of the law in its docstring's first line."""

    def register(check: Check) -> Check:
        law, _, doc = (check.__doc__ or "").strip().partition("\n")
        RULES[id] = Rule(
            id=id,
            severity=severity,
            needs=needs,
            scope=scope,
            look_at=look_at,
            follows=follows,
            law=law,
            doc=doc.strip(),
            check=check,
            performed=performed,
        )
        return check

    return register
