"""Amounts beside amounts: what the engine counts of a pool beside what the events leave, pairs moved beside pairs due."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from speckv_debug.model.text import printable
from speckv_debug.viewers.html.markup import Html, element
from speckv_debug.viewers.html.svg import box, label, picture

WIDTH, TALL, EDGE, CHARACTER, PITCH, TOP, LONGEST = 436, 30, 4, 7.3, 48, 20, 80


@dataclass(frozen=True, slots=True)
class Part:
    """One stretch of a bar; a missing one is drawn as a hole."""

    words: str
    amount: int
    kind: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A name, its parts from left to right, and what stands behind the bar."""

    name: str
    parts: tuple[Part, ...]
    words: str
    wrong: bool = False


def draw_sums(bars: Sequence[Bar], title: str) -> Html:
    """All bars over one scale that begins at nothing."""
    most = max((sum(part.amount for part in bar.parts) for bar in bars), default=0)
    if most <= 0:
        return Html()
    shapes = [shape for at, bar in enumerate(bars) for shape in _bar(bar, at, (WIDTH - 2 * EDGE) / most)]
    width = max(WIDTH, *(2 * EDGE + CHARACTER * len(_words(bar)) for bar in bars))
    height = TOP + len(bars) * (TALL + PITCH - 24) - 12
    drawn = picture(width, height, shapes, title=f"{title}: {_said(bars)}", class_="sums")
    return element("div", drawn, _legend(bars))


def _bar(bar: Bar, at: int, scale: float) -> Iterator[Html]:
    """Its words, and its parts from left to right."""
    x, y = float(EDGE), TOP + at * (TALL + PITCH - 24)
    yield label(EDGE, y - 6, _words(bar), "wrong" if bar.wrong else "lane", "start")
    for part in bar.parts:
        yield from _part(part, x, y, part.amount * scale)
        x += part.amount * scale


def _part(part: Part, x: float, y: float, wide: float) -> Iterator[Html]:
    if wide > 0:
        yield box(x, y, max(wide - 1, 1), TALL, f"part {part.kind}")
    if wide > CHARACTER * len(str(part.amount)) + 6:
        look = "wrong" if part.kind == "missing" else "inside"
        yield label(x + wide / 2, y + TALL / 2 + 4, part.amount, look)


def _words(bar: Bar) -> str:
    words = printable(f"{bar.name}: {bar.words}")
    return f"{'✗ ' if bar.wrong else ''}{words if len(words) <= LONGEST else f'{words[: LONGEST - 1]}…'}"


def _said(bars: Sequence[Bar]) -> str:
    told = ((bar.name, ", ".join(f"{part.words} {part.amount}" for part in bar.parts)) for bar in bars)
    return "; ".join(f"{name}: {parts}" for name, parts in told)


def _legend(bars: Sequence[Bar]) -> Html:
    words = {part.kind: part.words for bar in bars for part in bar.parts if part.amount}
    return element(
        "p",
        *(element("span", element("i", class_=f"swatch {kind}"), each) for kind, each in words.items()),
        class_="legend",
    )
