"""Amounts beside amounts: what the engine counts of a pool beside what the events leave, pairs moved beside pairs due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from speckv_debug.model.text import printable
from speckv_debug.viewers.html.markup import Html, element
from speckv_debug.viewers.html.svg import box, label, picture

WIDTH, TALL, EDGE, CHARACTER, PITCH, TOP = 460, 30, 4, 7.2, 48, 20


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
    scale, shapes = (WIDTH - 2 * EDGE) / most, list[Html]()
    for number, bar in enumerate(bars):
        y = TOP + number * (TALL + PITCH - 24)
        words = f"{'✗ ' if bar.wrong else ''}{printable(bar.name)}: {bar.words}"
        shapes.append(label(EDGE, y - 6, words, "wrong" if bar.wrong else "lane", "start"))
        x = float(EDGE)
        for part in bar.parts:
            wide = part.amount * scale
            if wide > 0:
                shapes.append(box(x, y, max(wide - 1, 1), TALL, f"part {part.kind}"))
                if wide > CHARACTER * len(str(part.amount)) + 6:
                    shapes.append(
                        label(
                            x + wide / 2,
                            y + TALL / 2 + 4,
                            part.amount,
                            "wrong" if part.kind == "missing" else "inside",
                        )
                    )
            x += wide
    said = "; ".join(
        f"{bar.name}: " + ", ".join(f"{part.words} {part.amount}" for part in bar.parts) for bar in bars
    )
    height = TOP + len(bars) * (TALL + PITCH - 24) - 12
    drawn = picture(WIDTH, height, shapes, title=f"{title}: {said}", class_="sums")
    return element("div", drawn, _legend(bars))


def _legend(bars: Sequence[Bar]) -> Html:
    words = {part.kind: part.words for bar in bars for part in bar.parts if part.amount}
    return element(
        "p",
        *(element("span", element("i", class_=f"swatch {kind}"), each) for kind, each in words.items()),
        class_="legend",
    )
