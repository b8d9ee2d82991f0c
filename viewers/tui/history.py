"""What one may ask of slots, pages, request rows and requests, and the answer as lines."""

from __future__ import annotations

from dataclasses import dataclass

from speckv_debug.errors import UsageError

NUMBERED = ("slot", "page", "row")
LIFE = "life"
DIGITS = 18
"""Of a number that may be an id."""
USAGE = "say slot N, page N (a pool's name may follow), row N, or life REQUEST"


@dataclass(frozen=True, slots=True)
class Question:
    """`kind` is slot, page, row or life; `about` its number, or the request's id; `pool` None for the main one."""

    kind: str
    about: str
    pool: str | None = None

    @property
    def words(self) -> str:
        """As it is typed."""
        return " ".join(filter(None, (self.kind, self.about, self.pool)))


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One event, or one epoch of a row by its first event; texts are as recorded and not yet fit to be shown.

    `rung` are a request's committed and allocated lengths behind the event, as last told; None of what is no request's life.
    """

    seq: int
    step: int | None
    event: str
    who: str
    what: str
    rung: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class History:
    """An answer: in the order of `seq`, and what the recording can't tell."""

    title: str
    lines: tuple[HistoryLine, ...]
    unseen: tuple[str, ...] = ()


def parse_question(text: str) -> Question | None:
    """What was typed as a question; None if it is none.

    Raises:
        UsageError: It begins as one and does not go on as one.
    """
    kind, _, rest = text.strip().partition(" ")
    if kind == LIFE and rest.strip():
        return Question(LIFE, rest.strip())
    if kind not in (*NUMBERED, LIFE):
        return None
    number, *pool = rest.split()[:2] or [""]
    if not number.isdecimal() or len(number) > DIGITS or (pool and kind == "row"):
        raise UsageError(f"{kind} needs a number" if kind != LIFE else "life needs a request", USAGE)
    return Question(kind, number, *pool)
