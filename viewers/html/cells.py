"""Lanes of cells, one under the other: what was due above what the engine has, the places where they differ marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from speckv_debug.model.text import amount, printable
from speckv_debug.viewers.html.markup import Html, element
from speckv_debug.viewers.html.svg import box, label, picture

TALL, GAP, EDGE, CHARACTER, NARROWEST, LONGEST, LONGEST_KEY = 28, 8, 6, 7.4, 40, 12, 16
MOST_CELLS, FEWEST, WIDEST = 16, 6, 900
"""Cells of a lane at most; so many even if they are wide; width up to which wide ones are drawn."""
HEAD = 22


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """Lanes over the same places.

    Attributes:
        key: What the places are called, such as `position`.
        keys: The name of each place.
        lanes: Name and cells of each lane; the last ones are what the engine has.
        wrong: Places where these break the law.
        unset: What an absent cell shows.
        found: How many of the lanes are what the engine has.
    """

    key: str
    keys: tuple[str, ...]
    lanes: tuple[tuple[str, tuple[str | None, ...]], ...]
    wrong: frozenset[int]
    unset: str = "–"
    found: int = 1


def draw_cells(strip: Strip, title: str) -> Html:
    """The lanes; of many places those that are wrong and their neighbours, and how many are left out."""
    left = EDGE + CHARACTER * max(len(name) for name in (strip.key, *(name for name, _ in strip.lanes))) + 10
    places = _shown(strip, MOST_CELLS)
    if not places:
        return Html()
    wide = _width(strip, places)
    places = _shown(strip, min(MOST_CELLS, max(FEWEST, int((WIDEST - left) / (wide + 4)))))
    x = {place: left + at * (wide + 4) for at, place in enumerate(places)}
    bottom = HEAD + len(strip.lanes) * (TALL + GAP)
    shapes = [
        *_heads(strip, x, left, wide),
        *_lanes(strip, x, left, wide),
        *_signs(strip, x, wide, bottom + 6),
    ]
    width, height = left + len(places) * (wide + 4) + EDGE, bottom + (14 if strip.wrong else 2)
    drawn = picture(width, height, shapes, title=f"{title}: {_words(strip)}", class_="cells")
    return element("div", drawn, *_rest(strip, places))


def _heads(strip: Strip, x: Mapping[int, float], left: float, wide: float) -> Iterator[Html]:
    yield label(left - 8, HEAD - 8, strip.key, "lane", "end")
    for place, at in x.items():
        yield label(at + wide / 2, HEAD - 8, _cut(strip.keys[place], LONGEST_KEY), "small")


def _lanes(strip: Strip, x: Mapping[int, float], left: float, wide: float) -> Iterator[Html]:
    for number, (name, cells) in enumerate(strip.lanes):
        y, found = HEAD + number * (TALL + GAP), number >= len(strip.lanes) - strip.found
        yield label(left - 8, y + TALL / 2 + 4, name, "lane", "end")
        for place, at in x.items():
            kind = "wrong" if found and place in strip.wrong else "plain" if found else "accepted"
            kind = "rejected" if cells[place] is None and kind != "wrong" else kind
            yield from _cell(at, y, wide, cells[place] or strip.unset, kind)


def _signs(strip: Strip, x: Mapping[int, float], wide: float, y: float) -> Iterator[Html]:
    for place, at in x.items():
        if place in strip.wrong:
            yield label(at + wide / 2, y, "✗", "wrong")


def _shown(strip: Strip, most: int) -> list[int]:
    everything = range(len(strip.keys))
    if len(everything) <= most:
        return list(everything)
    first = min(strip.wrong, default=0)
    start = max(0, min(first - most // 3, len(everything) - most))
    return list(everything[start : start + most])


def _rest(strip: Strip, places: Sequence[int]) -> Iterator[Html]:
    if hidden := len(strip.keys) - len(places):
        bad = len(strip.wrong - set(places))
        words = f"{amount(hidden, 'more place')} not drawn" + (f", {bad} of them wrong" if bad else "")
        yield element("p", element("span", f"{words}; see the table below."), class_="legend")


def _width(strip: Strip, places: Sequence[int]) -> float:
    texts = [_cut(strip.keys[place], LONGEST_KEY) for place in places]
    texts += [_cut(cells[place] or strip.unset) for _, cells in strip.lanes for place in places]
    return max(NARROWEST, 12 + CHARACTER * max(map(len, texts)))


def _cell(x: float, y: float, wide: float, words: str, kind: str) -> Iterator[Html]:
    yield box(x, y, wide, TALL, f"cell {kind}")
    yield label(x + wide / 2, y + TALL / 2 + 4, _cut(words), "wrong" if kind == "wrong" else "")


def _cut(words: str, most: int = LONGEST) -> str:
    """The end of a long number tells more than its beginning."""
    words = printable(words)
    return words if len(words) <= most else f"…{words[-(most - 1) :]}"


def _words(strip: Strip) -> str:
    """What is wrong, for a reader who does not see the picture."""
    told = []
    for place in sorted(strip.wrong)[:MOST_CELLS]:
        values = ", ".join(f"{name} {cells[place] or strip.unset}" for name, cells in strip.lanes)
        told.append(f"{strip.key} {strip.keys[place]}: {values}")
    return "; ".join(told) or "nothing differs"
