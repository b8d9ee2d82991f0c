"""The life of one page, slot, row or reference as a line from top to bottom: each event, and what holds from there on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from speckv_debug.model.text import amount, printable
from speckv_debug.viewers.html.markup import Html, element
from speckv_debug.viewers.html.svg import box, disc, label, picture

PITCH, TOP, BAND, EDGE, CHARACTER, SMALL, MOST_EVENTS, LONGEST = 24, 8, 26, 4, 7.3, 6.8, 8, 66
MOST_WRONG = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One event.

    Attributes:
        step: Where it stands, such as `step 9`.
        words: What happened.
        state: How the band is filled from here on: one of the classes `held`, `tree`, `free`, or empty.
        inside: What stands in the band, such as a count.
        wrong: Whether it breaks the law.
    """

    step: str
    words: str
    state: str
    inside: str = ""
    wrong: bool = False


def draw_life(turns: Sequence[Turn], title: str) -> Html:
    """The events, oldest first; of many the first ones, those that are wrong and the last, with gaps that say how many are left out."""
    if not turns:
        return Html()
    rows = _shown(turns)
    left = EDGE + 12 + SMALL * max(len(turn.step) for turn in rows)
    shapes: list[Html] = []
    for at, turn in enumerate(rows):
        y = TOP + at * PITCH
        shapes += _row(turn, y, left, last=at == len(rows) - 1)
    longest = max(len(_cut(turn.words)) + (2 if turn.wrong else 0) for turn in rows)
    width = left + BAND + 14 + CHARACTER * longest + EDGE
    height = TOP + len(rows) * PITCH + 4
    told = "; ".join(
        f"{turn.step} {turn.words}" + (", against the law" if turn.wrong else "") for turn in rows
    )
    drawn = picture(width, height, shapes, title=f"{title}: {told}", class_="life")
    return element("div", drawn, _legend(rows))


def _shown(turns: Sequence[Turn]) -> list[Turn]:
    if len(turns) <= MOST_EVENTS:
        return list(turns)
    kept = {0, 1, *[at for at, turn in enumerate(turns) if turn.wrong][:MOST_WRONG]}
    for at in reversed(range(len(turns))):
        if len(kept) < MOST_EVENTS - 1:
            kept.add(at)
    rows = list[Turn]()
    for before, at in pairwise((-1, *sorted(kept))):
        if hidden := at - before - 1:
            rows.append(Turn(step="", words=f"… {amount(hidden, 'more event')}", state=turns[at - 1].state))
        rows.append(turns[at])
    return rows


def _row(turn: Turn, y: float, left: float, *, last: bool) -> Iterator[Html]:
    middle = y + PITCH / 2
    yield label(left - 10, middle + 4, turn.step, "small", "end")
    if turn.state:
        yield box(left, middle, BAND, PITCH / 2 if last else PITCH, f"band {turn.state}")
    yield disc(left + BAND / 2, middle, 9 if turn.inside else 5, "event wrong" if turn.wrong else "event")
    if turn.inside:
        yield label(left + BAND / 2, middle + 4, turn.inside, "inside wrong" if turn.wrong else "inside")
    words = f"✗ {_cut(turn.words)}" if turn.wrong else _cut(turn.words)
    yield label(left + BAND + 10, middle + 4, words, "wrong" if turn.wrong else "", "start")


def _cut(words: str) -> str:
    words = printable(words)
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


WORDS = {"held": "granted", "tree": "in the prefix tree", "free": "freed"}


def _legend(rows: Sequence[Turn]) -> Html:
    used = {turn.state for turn in rows}
    keys = [
        element("span", element("i", class_=f"swatch {state}"), words)
        for state, words in WORDS.items()
        if state in used
    ]
    return element("p", *keys, class_="legend") if keys else Html()
