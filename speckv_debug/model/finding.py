"""What a check says: findings, what could not be judged, the verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from speckv_debug.model.process import Rank

Cell = int | str | None


class Severity(StrEnum):
    """`error` and `warning` make the verdict `findings`, `note` never does."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A small table that proves a finding; `marked` are the indices of the rows that break the law."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    marked: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One broken law at one place.

    Attributes:
        rule: Rule id.
        severity: How bad.
        process: Label of the recorded process.
        message: What is wrong with the engine's state, in a sentence.
        expected: What the law asks for, as text.
        actual: What the engine did, as text.
        first_seq: `seq` of the first event that breaks the law.
        about: Of state and pages beside the main KV: which of both, whose, and what its clean-up is for.
        folded: Of the note that counts a rule's other findings: how many they are.
        repeats: How many further instances broke it in the same way and were folded into this one.
        cause: `first_seq` of the finding that this one follows from, or None for a root cause.
    """

    rule: str
    severity: Severity
    process: str
    message: str
    step: int | None = None
    request: str | None = None
    row: int | None = None
    epoch: int | None = None
    pool: str | None = None
    slots: tuple[int, ...] | None = None
    pages: tuple[int, ...] | None = None
    ranks: tuple[Rank, ...] | None = None
    expected: str | None = None
    actual: str | None = None
    evidence: tuple[Evidence, ...] = ()
    about: str | None = None
    first_seq: int = 0
    repeats: int = 0
    cause: int | None = None
    folded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """Instances of a rule that could not be judged, and why."""

    rule: str
    why: str
    instances: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """What people read about a rule: its law in one sentence, and the engine function to look at (or empty)."""

    rule: str
    severity: Severity
    law: str
    look_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a baseline of known findings took out of a result.

    Attributes:
        findings: Rule id → how many of its findings, with what follows from them.
        unmatched: Entries of the baseline, of rules that ran, that fit no finding.
    """

    findings: dict[str, int] = field(default_factory=dict)
    unmatched: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.findings.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The outcome of all rules on one recording; findings sorted by process and `first_seq`.

    `laws` are those of the rules that ran, by id, so that a viewer can quote them. `known` is what a baseline took out, None
    without one; `disabled` are the rules that a configuration leaves out, `lowered` how many findings of a rule it made notes.
    """

    findings: tuple[Finding, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    checked: dict[str, int] = field(default_factory=dict)
    laws: dict[str, Law] = field(default_factory=dict)
    known: Known | None = None
    disabled: tuple[str, ...] = ()
    lowered: dict[str, int] = field(default_factory=dict)

    @property
    def verdict(self) -> Literal["clean", "findings", "unknown"]:
        """`findings` if any error or warning stands, `unknown` if nothing at all was judged."""
        if any(f.severity is not Severity.NOTE for f in self.findings):
            return "findings"
        return "clean" if sum(self.checked.values()) else "unknown"

    @property
    def judged_share(self) -> float:
        """Judged instances / (judged + unknown), 1.0 if there were none."""
        judged, all_ = self._counted
        return judged / all_ if all_ else 1.0

    @property
    def judged_percent(self) -> float:
        """The same in percent, rounded down to a tenth: 100 means all."""
        judged, all_ = self._counted
        return 1000 * judged // all_ / 10 if all_ else 100.0

    @property
    def mostly_unknown(self) -> bool:
        """Whether less than half of all instances could be judged: that nothing was found says little then."""
        judged, all_ = self._counted
        return 2 * judged < all_

    def doubt(self, damaged: bool) -> str:
        """Why no tick stands before a clean verdict, empty if one does; `damaged`: a file of the recording is lost."""
        if self.verdict != "clean":
            return ""
        if damaged and self.unknown:
            return "part of the recording is lost"
        return "most can't be judged" if self.mostly_unknown else ""

    @property
    def nothing_found(self) -> str:
        """`nothing found`, or `nothing new found` where a baseline took findings out."""
        return "nothing new found" if self.known is not None and self.known.total else "nothing found"

    @property
    def judged_instances(self) -> int:
        """How many instances were judged."""
        return self._counted[0]

    @property
    def instances(self) -> int:
        """How many instances occur, judged or unknown."""
        return self._counted[1]

    def names_processes(self, recorded: int) -> bool:
        """Whether a finding has to name its process: `recorded` is how many were, a finding may be of another one."""
        return recorded > 1 or len({finding.process for finding in self.findings}) > 1

    @property
    def _counted(self) -> tuple[int, int]:
        """Judged instances, and all."""
        judged = sum(self.checked.values())
        return judged, judged + sum(entry.instances for entry in self.unknown)
