"""Arrows between two lanes of names: rows and the slots that they are written to, slots and their peers, copies in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from speckv_debug.model.text import amount
from speckv_debug.viewers.html.markup import Html, element
from speckv_debug.viewers.html.svg import arrow, box, label, picture

CELL, PITCH, TALL, EDGE, TOP, DOWN, MOST, CHARACTER, NARROWEST = 50, 56, 28, 4, 22, 66, 16, 7.4, 50


@dataclass(frozen=True, slots=True)
class Link:
    """From a name of the upper lane to one of the lower; `words` stand under the lower end of a wrong one."""

    source: str
    target: str
    wrong: bool = False
    words: str = ""


def draw_links(links: Sequence[Link], upper: str, lower: str, title: str) -> Html:
    """Both lanes in the order of the links and of their targets; wrong links are red, their words say why."""
    shown = sorted(links[:], key=lambda link: not link.wrong)[:MOST]
    kept = [link for link in links if link in shown]
    if not kept:
        return Html()
    tops = list(dict.fromkeys(link.source for link in kept))
    bottoms = list(dict.fromkeys(link.target for link in kept))
    wide = max(NARROWEST, 14 + CHARACTER * max(len(name) for name in (*tops, *bottoms)))
    x = {0: _places(tops, wide), 1: _places(bottoms, wide)}
    bad = {link.target for link in kept if link.wrong}
    shapes = [
        arrow(
            x[0][k.source] + wide / 2,
            TOP + TALL + 2,
            x[1][k.target] + wide / 2,
            TOP + TALL + DOWN - 3,
            "wrong" if k.wrong else "ran",
        )
        for k in kept
    ]
    shapes += [
        label(EDGE, TOP - 8, upper, "lane", "start"),
        label(EDGE, TOP + TALL + DOWN - 8, lower, "lane", "start"),
    ]
    for lane, names, y in ((0, tops, TOP), (1, bottoms, TOP + TALL + DOWN)):
        for name in names:
            wrong = lane == 1 and name in bad
            shapes.append(box(x[lane][name], y, wide, TALL, f"cell {'wrong' if wrong else 'plain'}"))
            shapes.append(label(x[lane][name] + wide / 2, y + TALL / 2 + 4, name, "wrong" if wrong else ""))
    foot = TOP + 2 * TALL + DOWN + 16
    words = {link.target: link.words for link in kept if link.wrong and link.words}
    for target, said in words.items():
        middle, half = x[1][target] + wide / 2, CHARACTER * (len(said) + 2) / 2
        shapes.append(label(max(middle, EDGE + half), foot, f"✗ {said}", "wrong"))
    longest = max(
        (
            max(x[1][t] + wide / 2, half) + half
            for t, w in words.items()
            for half in [CHARACTER * (len(w) + 2) / 2]
        ),
        default=0,
    )
    width = max(2 * EDGE + max(len(tops), len(bottoms)) * (wide + 6), longest + EDGE)
    said = "; ".join(
        f"{k.source} to {k.target}{', against the law: ' + k.words if k.wrong else ''}" for k in kept
    )
    drawn = picture(width, foot + 8, shapes, title=f"{title}: {said}", class_="arrows")
    return element("div", drawn, *_rest(len(links) - len(kept)))


def _places(names: Sequence[str], wide: float) -> dict[str, float]:
    return {name: EDGE + at * (wide + 6) for at, name in enumerate(names)}


def _rest(hidden: int) -> list[Html]:
    words = f"{amount(hidden, 'more arrow')} not drawn"
    return [element("p", element("span", words), class_="legend")] if hidden else []
