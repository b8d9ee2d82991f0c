"""What a reader found wrong with a recording, and which span of it is concerned."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

REFUSED = "not readable"
"""How `Problem.what` begins of a file that may not be read; it need not be damaged."""


class ProblemKind(StrEnum):
    """What is wrong."""

    DAMAGED_MANIFEST = "damaged_manifest"
    DAMAGED_PROCESS = "damaged_process"
    DAMAGED_PART = "damaged_part"
    DAMAGED_COLUMN = "damaged_column"
    TORN_SPOOL = "torn_spool"
    MISSING_END = "missing_end"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is missing or damaged.

    Attributes:
        kind: What is wrong.
        where: Process label, or file relative to the recording.
        what: In words, with how much is lost.
        process: Label of the process concerned, or None for the whole recording.
        tables: Tables whose rows may be missing.
        after_seq: Rows may be missing after this event (exclusive); None: from the beginning.
        before_seq: Rows may be missing before this event (exclusive); None: to the end.
        rows: How many rows are missing, where it is known.
    """

    kind: ProblemKind
    where: str
    what: str
    process: str | None = None
    tables: tuple[str, ...] = ()
    after_seq: int | None = None
    before_seq: int | None = None
    rows: int | None = None

    @property
    def file(self) -> str:
        """What kind of file it is about, with its article."""
        return "an unreadable file" if self.what.startswith(REFUSED) else "a damaged file"

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"
