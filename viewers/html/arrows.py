"""Arrows between two lanes of names: rows and the slots that they are written to, slots and their peers, copies in order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from speckv_debug.model.text import amount, printable
from speckv_debug.viewers.html.markup import Html, element
from speckv_debug.viewers.html.svg import arrow, box, label, picture

TALL, EDGE, TOP, DOWN, MOST, CHARACTER, NARROWEST, LONGEST = 28, 4, 22, 66, 16, 7.4, 50, 48
LOWER = TOP + TALL + DOWN
FOOT = LOWER + TALL + 16
Places = Mapping[str, float]
"""Name → left edge of its cell."""


@dataclass(frozen=True, slots=True)
class Link:
    """From a name of the upper lane to one of the lower; `words` stand under the lower end of a wrong one."""

    source: str
    target: str
    wrong: bool = False
    words: str = ""


def draw_links(links: Sequence[Link], upper: str, lower: str, title: str) -> Html:
    """Both lanes in the order of the links and of their targets; wrong links are red, their words say why."""
    shown = sorted(links, key=lambda link: not link.wrong)[:MOST]
    kept = [link for link in links if link in shown]
    if not kept:
        return Html()
    tops, bottoms = (
        list(dict.fromkeys(names)) for names in zip(*((k.source, k.target) for k in kept), strict=True)
    )
    wide = max(NARROWEST, 14 + CHARACTER * max(len(_cut(name)) for name in (*tops, *bottoms)))
    above, below = _places(tops, wide), _places(bottoms, wide)
    words = {link.target: link.words for link in kept if link.wrong and link.words}
    shapes = [
        *_arrows(kept, above, below, wide / 2),
        *_lane(upper, above, wide, TOP, frozenset()),
        *_lane(lower, below, wide, LOWER, {link.target for link in kept if link.wrong}),
        *(
            label(_middle(below[at] + wide / 2, said), FOOT, f"✗ {said}", "wrong")
            for at, said in words.items()
        ),
    ]
    ends = [_middle(below[at] + wide / 2, said) + _half(said) + EDGE for at, said in words.items()]
    width = max(2 * EDGE + max(len(tops), len(bottoms)) * (wide + 6), *ends, 0)
    drawn = picture(width, FOOT + 8, shapes, title=f"{title}: {_said(kept)}", class_="arrows")
    return element("div", drawn, *_rest(len(links) - len(kept)))


def _arrows(links: Sequence[Link], above: Places, below: Places, half: float) -> Iterator[Html]:
    for k in links:
        start, end = above[k.source] + half, below[k.target] + half
        yield arrow(start, TOP + TALL + 2, end, LOWER - 3, "wrong" if k.wrong else "ran")


def _lane(title: str, places: Places, wide: float, y: float, bad: Collection[str]) -> Iterator[Html]:
    yield label(EDGE, y - 8, title, "lane", "start")
    for name, x in places.items():
        yield box(x, y, wide, TALL, f"cell {'wrong' if name in bad else 'plain'}")
        yield label(x + wide / 2, y + TALL / 2 + 4, _cut(name), "wrong" if name in bad else "")


def _cut(name: str) -> str:
    name = printable(name)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _half(words: str) -> float:
    """Half the width of words behind their sign."""
    return CHARACTER * (len(words) + 2) / 2


def _middle(x: float, words: str) -> float:
    """Where the words stand, so that they begin inside the picture."""
    return max(x, EDGE + _half(words))


def _said(links: Sequence[Link]) -> str:
    told = ((k, f", against the law: {k.words}" if k.wrong else "") for k in links)
    return "; ".join(f"{k.source} to {k.target}{why}" for k, why in told)


def _places(names: Sequence[str], wide: float) -> Places:
    return {name: EDGE + at * (wide + 6) for at, name in enumerate(names)}


def _rest(hidden: int) -> list[Html]:
    words = f"{amount(hidden, 'more arrow')} not drawn"
    return [element("p", element("span", words), class_="legend")] if hidden else []
