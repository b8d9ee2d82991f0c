"""What the fold noticed, as one code an event and rule: columns that the laws judge, details of what is broken only."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

PASS, FAIL, SKIP, UNSEEN = 0, 1, 254, 255
FIRST_REASON = 2
LATE = "the recording did not see the process start: who held the page is unknown"
JUDGED = {
    "double": ("free",),
    "unsafe": ("free", "release"),
    "alias": ("alloc", "table_write"),
    "dangling": ("forward", "accept", "cache", "transfer"),
    "owned": ("forward", "accept"),
    "totals": ("pool_stat", "cache"),
    "orphan": ("table_write",),
    "publish": ("cache",),
}
"""What is judged at which events: freed twice, freed while in use, held twice, used while free, written by its holder, the
sum of the pool and the locks of the tree, overwritten in a row, put into the tree."""
RARE = (("orphan", "table_write"), ("publish", "cache"), ("totals", "cache"), ("dangling", "transfer"))
"""Of which most events are no instance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """One broken instance: the pages, in which way, and who else is concerned.

    Attributes:
        way: Which form of the law is broken, such as `again`, `tree` or `row`.
        other: Tenure that holds the pages too, or None.
        positions: First and last position concerned, in the row of `other` or of the event.
        slots: What was named there, if the event does not say it.
        at: `seq` and step of the other event concerned: the one that the fault goes back to, or that shows it.
    """

    way: str
    pages: tuple[int, ...]
    other: int | None = None
    positions: tuple[int, int] | None = None
    slots: tuple[int, ...] = ()
    at: tuple[int, int | None] | None = None


@dataclass(slots=True, kw_only=True)
class End:
    """The end of a request's hold, judged at the next quiet point.

    Attributes:
        table, index: The event that ended it: a release, a row_free, or the cache event of a session.
        seq, step: Of that event, step None if unknown.
        tenure: Who ended; `request` as it was called then.
        code: As of an event.
        pages: What has no holder any more and is not free.
    """

    table: str
    index: int
    seq: int
    step: int | None
    tenure: int
    row: int
    epoch: int
    request: str | None
    code: int = UNSEEN
    pages: tuple[int, ...] = ()


@dataclass(slots=True)
class Facts:
    """Codes of events by what is judged and table; 0 kept, 1 broken, 254 no instance, else why unknown."""

    codes: dict[tuple[str, str], bytearray] = field(default_factory=dict)
    broken: dict[tuple[str, str, int], Broken] = field(default_factory=dict)
    ends: list[End] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def prepare(self, law: str, table: str, count: int) -> None:
        """Start a column with nothing judged."""
        self.codes[law, table] = bytearray([SKIP if (law, table) in RARE else UNSEEN]) * count

    def reason(self, text: str) -> int:
        """The code of a reason for not knowing."""
        if text not in self.reasons:
            if len(self.reasons) + FIRST_REASON >= SKIP:
                return FIRST_REASON
            self.reasons.append(text)
        return FIRST_REASON + self.reasons.index(text)

    def why(self, code: int) -> str:
        """The reason behind a code."""
        return (
            "the events that decide it were not reached"
            if code == UNSEEN
            else self.reasons[code - FIRST_REASON]
        )

    def mark(self, law: str, table: str, index: int, code: int) -> None:
        """Judge one event; what is broken stays broken."""
        codes = self.codes[law, table]
        if codes[index] != FAIL:
            codes[index] = code

    def fail(self, law: str, table: str, index: int, broken: Broken) -> None:
        """One event breaks the law; the first detail is kept."""
        self.codes[law, table][index] = FAIL
        self.broken.setdefault((law, table, index), broken)

    def column(self, law: str, table: str) -> npt.NDArray[np.uint8]:
        """The codes of one table's events, in the order of the table."""
        return np.frombuffer(self.codes[law, table], dtype=np.uint8)
