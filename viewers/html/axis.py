"""Stretches of positions on one line, lane under lane: what was due, what the engine has, where they part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from speckv_debug.viewers.html.markup import Html, element
from speckv_debug.viewers.html.svg import box, label, line, picture

WIDTH, EDGE, TALL, GAP, CHARACTER, TOP = 436, 8, 22, 26, 7.2, 20
Scale = Callable[[int], float]
Kind = Literal["committed", "reserve", "due", "plain", "wrong", "missing"]


@dataclass(frozen=True, slots=True)
class Span:
    """Positions `[start, end)`."""

    start: int
    end: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Lane:
    """A name and what lies on it, later spans over earlier ones."""

    name: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """A boundary with its word."""

    at: int
    words: str
    wrong: bool = False


def draw_axis(lanes: Sequence[Lane], points: Sequence[Point], title: str, unit: str = "position") -> Html:
    """The lanes over one scale; a long common beginning is cut off, and the axis says from where it is drawn."""
    ends = [n for lane in lanes for span in lane.spans for n in (span.start, span.end)]
    ends += [point.at for point in points]
    if not ends or max(ends) <= 0:
        return Html()
    start, last = _start(lanes, points), max(ends)
    scale = (WIDTH - 2 * EDGE) / max(last - start, 1)

    def x(position: int) -> float:
        return EDGE + (max(position, start) - start) * scale

    foot = TOP + len(lanes) * (TALL + GAP) - GAP + 4
    drawn = [shape for at, lane in enumerate(lanes) for shape in _lane(lane, TOP + at * (TALL + GAP), x)]
    marks, rows = _points(points, x, foot)
    below = foot + rows * 15
    shapes = [*drawn, *marks, *_ruler(below, f"{unit} {start}", str(last))]
    said = "; ".join(f"{point.words} at {point.at}" for point in points)
    return element(
        "div",
        picture(WIDTH, below + 26, shapes, title=f"{title}: {said}", class_="axis"),
        _legend(lanes),
    )


def _ruler(y: float, first: str, last: str) -> Iterator[Html]:
    """The line below everything, and what it begins and ends with."""
    yield label(EDGE, y + 20, first, "small", "start")
    yield label(WIDTH - EDGE, y + 20, last, "small", "end")
    yield line(EDGE, y + 7, WIDTH - EDGE, y + 7, "tick")


def _start(lanes: Sequence[Lane], points: Sequence[Point]) -> int:
    """Where the drawing begins: a third before the first boundary, so that what differs is wide enough to see."""
    near = [n for lane in lanes for span in lane.spans for n in (span.start, span.end) if n]
    near += [point.at for point in points]
    first, last = min(near, default=0), max(near, default=1)
    return max(0, first - max(4, (last - first) // 2)) if first > (last - first) else 0


def _lane(lane: Lane, y: float, x: Scale) -> Iterator[Html]:
    yield label(EDGE, y - 6, lane.name, "lane", "start")
    for span in lane.spans:
        if span.end > span.start:
            left, end = x(span.start), x(span.end)
            yield box(left, y, max(end - left, 2), TALL, f"span {span.kind}")


def _points(points: Sequence[Point], x: Scale, foot: float) -> tuple[list[Html], int]:
    """Words under the lanes, each in the first row where it has room; and how many rows there are."""
    shapes: list[Html] = []
    taken: list[float] = []
    for point in sorted(points, key=lambda each: each.at):
        at = x(point.at)
        words = f"✗ {point.words} {point.at}" if point.wrong else f"{point.words} {point.at}"
        wide = len(words) * CHARACTER
        left = min(max(EDGE, at - wide / 2), WIDTH - EDGE - wide)
        row = next((n for n, end in enumerate(taken) if end + 8 < left), len(taken))
        taken[row : row + 1] = [left + wide]
        y = foot + 12 + row * 15
        shapes.append(line(at, TOP - 4, at, foot, "page wrong" if point.wrong else "page"))
        shapes.append(label(left + wide / 2, y, words, "wrong" if point.wrong else "small"))
    return shapes, len(taken)


WORDS: dict[Kind, str] = {
    "committed": "committed",
    "reserve": "allocated, not committed",
    "due": "due",
    "wrong": "✗ against the law",
    "missing": "✗ missing",
}


def _legend(lanes: Sequence[Lane]) -> Html:
    used = {span.kind for lane in lanes for span in lane.spans if span.end > span.start}
    keys = [
        element("span", element("i", class_=f"swatch {kind}"), words)
        for kind, words in WORDS.items()
        if kind in used
    ]
    return element("p", *keys, class_="legend") if keys else Html()
