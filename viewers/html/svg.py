"""The few shapes that the drawings are made of; colours come from the page's style by class."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from speckv_debug.viewers.html.markup import Html, element

MARKED = re.compile(r"<text[^>]*>(✗ [^<]+)</text>")
SMALLEST, SMALLEST_TINY = 0.73, 0.85
"""To which share of its width a picture shrinks, without and with tiny words: no text is then below 8 px."""


def picture(width: float, height: float, shapes: Iterable[Html], *, title: str, class_: str) -> Html:
    """An inline SVG that shrinks on narrow screens and scrolls in its own box below that.

    `title` says the same in words; what is marked and not in it is added.
    """
    shapes = list(shapes)
    share = SMALLEST_TINY if any('class="tiny"' in shape for shape in shapes) else SMALLEST
    title = "; ".join([title, *_unsaid(title, shapes)])
    drawn = element(
        "svg",
        element("title", title),
        *shapes,
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        style=f"min-width:{round(width * share)}px",
        role="img",
        class_=class_,
    )
    return element("div", drawn, class_="scroll", role="region", tabindex=0, aria_label=title)


def _unsaid(title: str, shapes: Iterable[Html]) -> list[str]:
    """Words with a sign that the shapes show and the title lacks."""
    marked = [html.unescape(words) for shape in shapes for words in MARKED.findall(shape)]
    return [words for words in dict.fromkeys(marked) if words not in title]


def label(x: float, y: float, content: object, class_: str = "", anchor: str = "middle") -> Html:
    """Text on the base line `y`."""
    return element("text", content, x=x, y=y, text_anchor=anchor, class_=class_ or None)


def words_below(places: Iterable[tuple[float, str]], y: float) -> list[Html]:
    """What is said of places from left to right, by their middle: once under neighbours of which the same is said."""
    groups: list[tuple[list[float], str]] = []
    for x, words in places:
        if groups and groups[-1][1] == words:
            groups[-1][0].append(x)
        else:
            groups.append(([x], words))
    said = [((xs[0] + xs[-1]) / 2, words) for xs, words in groups if words]
    return [label(x, y, words, "wrong" if words.startswith("✗") else "small") for x, words in said]


def box(x: float, y: float, width: float, height: float, class_: str) -> Html:
    """A rectangle with slightly round corners."""
    return element("rect", x=x, y=y, width=width, height=height, rx=4, class_=class_)


def disc(x: float, y: float, radius: float, class_: str) -> Html:
    """A filled circle."""
    return element("circle", cx=x, cy=y, r=radius, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Html:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def curve(x1: float, y1: float, x2: float, y2: float, class_: str, *, upright: bool = False) -> Html:
    """A soft line between two points that leaves and arrives level, or upright."""
    if upright:
        middle = (y1 + y2) / 2
        path = f"M{x1:g} {y1:g}C{x1:g} {middle:g} {x2:g} {middle:g} {x2:g} {y2:g}"
    else:
        middle = (x1 + x2) / 2
        path = f"M{x1:g} {y1:g}C{middle:g} {y1:g} {middle:g} {y2:g} {x2:g} {y2:g}"
    return element("path", d=path, class_=class_, fill="none")


def arrow(x1: float, y1: float, x2: float, y2: float, class_: str) -> Html:
    """A soft upright line from the first point down to the second, with a head there."""
    head = element(
        "path", d=f"M{x2 - 4:g} {y2 - 7:g}L{x2 + 4:g} {y2 - 7:g}L{x2:g} {y2:g}Z", class_=f"head {class_}"
    )
    return element("g", curve(x1, y1, x2, y2 - 6, class_, upright=True), head)
