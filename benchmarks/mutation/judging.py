"""What `check` says of a changed recording, beside what the change means for a reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.mutation.bases import Base, in_memory
from benchmarks.mutation.consequence import consequence
from benchmarks.mutation.families import families, family_of
from benchmarks.mutation.kinds import LOSSES, Mutant
from benchmarks.mutation.state import Line
from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult, Finding, Severity

OF_A_LOSS = ("TRC-GAP",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One mutant and what became of it.

    Attributes:
        consequence: What a reader would see differently first, empty for nothing.
        rules: Of the findings that nothing else explains.
        family, exact: One of them is of a family that is due; one names the step and request of the change.
        unknown: More could not be judged than of the base.
    """

    base: str
    number: int
    kind: str
    table: str
    column: str
    seq: int
    consequence: str
    rules: tuple[str, ...]
    family: bool
    exact: bool
    unknown: bool
    places: tuple[str, ...] = ()

    @property
    def is_loss(self) -> bool:
        """The recorder missed something; the engine did nothing else."""
        return self.kind in LOSSES

    @property
    def found(self) -> bool:
        """Something is said of it."""
        return bool(self.rules)

    @property
    def missed(self) -> bool:
        """It matters and nothing is found."""
        return bool(self.consequence) and not self.found and not self.is_loss

    @property
    def false_alarm(self) -> bool:
        """A loss of the recorder is taken for a fault of the engine."""
        return self.is_loss and self.found

    def as_json(self) -> dict[str, Any]:
        """For a line of a file of results."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Judged:
    """A base with its own verdict."""

    base: Base
    unknown: Mapping[str, int]
    rules: tuple[str, ...]


def judged(base: Base) -> Judged:
    """A base and what `check` says of it unchanged."""
    result, raised = verdict(base.head, list(base.lines))
    return Judged(base, unknowns(result), (*raised, *(f.rule for f in serious(result))))


def verdict(head: Line, lines: list[Line]) -> tuple[CheckResult, list[str]]:
    """All laws and replay; the rules that raised beside."""
    raised: list[str] = []
    result = check(
        in_memory(head, lines), on_error=lambda rule, error: raised.append(f"{rule} raised {error!r}")
    )
    return result, raised


def judge(base: Judged, number: int, mutant: Mutant) -> Outcome:
    """One mutant of a base."""
    lines = mutant.lines(base.base)
    result, raised = verdict(base.base.head, lines)
    roots = [
        f for f in serious(result) if f.cause is None and not (mutant.kind in LOSSES and f.rule in OF_A_LOSS)
    ]
    due = families(mutant.table, mutant.column)
    return Outcome(
        base=base.base.name,
        number=number,
        kind=mutant.kind,
        table=mutant.table,
        column=mutant.column,
        seq=mutant.touched[0]["seq"],
        consequence=_consequence(base.base, mutant, lines),
        rules=(*sorted({f.rule for f in roots}), *raised),
        family=any(family_of(f.rule) in due for f in roots),
        exact=any(_names(base.base, mutant, f) for f in roots),
        unknown=bool(Counter(unknowns(result)) - Counter(base.unknown)),
        places=tuple(f"{f.rule} step {f.step} {f.request}" for f in roots[:4]),
    )


def serious(result: CheckResult) -> list[Finding]:
    """Errors and warnings."""
    return [f for f in result.findings if f.severity is not Severity.NOTE]


def unknowns(result: CheckResult) -> dict[str, int]:
    """Rule → instances that could not be judged."""
    count: Counter[str] = Counter()
    for unknown in result.unknown:
        count[unknown.rule] += unknown.instances
    return dict(count)


def _consequence(base: Base, mutant: Mutant, lines: list[Line]) -> str:
    end = mutant.first + len(mutant.now)
    was = base.lines[mutant.first : mutant.end]
    return consequence(base.head, base.lines[: mutant.first], was, mutant.now, lines[end:])


def _names(base: Base, mutant: Mutant, finding: Finding) -> bool:
    """The finding is about the step and request of what was changed, as it was or as it is."""
    for line in mutant.touched:
        step = line.get("step")
        same_step = finding.step == step or finding.first_seq == line["seq"]
        owners = {line.get("request") or _owner(base, line)} - {None}
        if same_step and (not owners or finding.request is None or finding.request in owners):
            return True
    return False


def _owner(base: Base, line: Line) -> Any:
    """The request that the row of an event belongs to then: a session's next turn has another name."""
    key, seq = (line.get("row"), line.get("epoch")), line["seq"]
    if None in key:
        return None
    named = [e for e in base.lines if (e.get("row"), e.get("epoch")) == key and e.get("request") is not None]
    return min(named, key=lambda e: (abs(e["seq"] - seq), e["seq"]))["request"] if named else None
