"""Copies one after the other over the same slots: which one overwrites what a later one still has to read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from speckv_debug.viewers.html.markup import Html, element
from speckv_debug.viewers.html.svg import arrow, box, label, picture

CELL, PITCH, TALL, DOWN, EDGE, TOP, NAMES = 58, 72, 28, 58, 4, 22, 150
MOST_SLOTS = 12
PAIR = re.compile(r"(\d+) <- (\d+)")


@dataclass(frozen=True, slots=True)
class Copy:
    """`slot target <- slot source`, and what it is in the order of the launch."""

    name: str
    source: int
    target: int
    wrong: bool


def copies_of(rows: Sequence[tuple[str, str, bool]]) -> list[Copy]:
    """Name, pair as text and whether it is wrong, in the order in which they run; empty if a pair can't be read."""
    found = [(name, PAIR.search(pair), wrong) for name, pair, wrong in rows]
    return (
        [Copy(name, int(m[2]), int(m[1]), wrong) for name, m, wrong in found if m]
        if all(m for _, m, _ in found)
        else []
    )


def spoiled(copies: Sequence[Copy]) -> list[Copy]:
    """Those whose source an earlier one has overwritten."""
    held: dict[int, int] = {}
    found = []
    for copy in copies:
        content = held.get(copy.source, copy.source)
        held[copy.target] = content
        if content != copy.source:
            found.append(copy)
    return found


def draw_copies(copies: Sequence[Copy]) -> Html:
    """One lane of slots before the copies and one behind each; a cell says whose content it has."""
    slots = sorted({slot for copy in copies for slot in (copy.source, copy.target)})
    if not copies:
        return Html()
    if len(slots) > MOST_SLOTS:
        return element(
            "p", f"Not drawn: the pairs are of {len(slots)} slots. They are listed below.", class_="aside"
        )
    x = {slot: EDGE + NAMES + at * PITCH for at, slot in enumerate(slots)}
    heads = [label(x[slot] + CELL / 2, TOP - 7, slot, "small") for slot in slots]
    shapes = [*heads, *_launches(copies, x)]
    told = "; ".join(f"{copy.name}: {copy.target} from {copy.source}" for copy in copies)
    width, height = max(x.values()) + CELL + 60, TOP + len(copies) * (TALL + DOWN) + TALL + 22
    drawn = picture(width, height, shapes, title=f"Copies in their order: {told}", class_="copies")
    return element("div", drawn)


def _launches(copies: Sequence[Copy], x: dict[int, int]) -> Iterator[Html]:
    """The slots before, then each copy and what it leaves; one whose source was overwritten before is wrong."""
    held = {slot: str(slot) for slot in x}
    yield from _lane(TOP, "before, KV of slot", x, held, None)
    for number, copy in enumerate(copies, 1):
        y = TOP + number * (TALL + DOWN)
        spoiled = held[copy.source] != str(copy.source)
        held = held | {copy.target: held[copy.source]}
        ends = (x[copy.source] + CELL / 2, y - DOWN + 2, x[copy.target] + CELL / 2, y - 2)
        yield arrow(*ends, "wrong" if spoiled else "ran")
        yield from _lane(y, f"{number}. {copy.name}", x, held, copy.target if spoiled else None)
        if spoiled:
            yield label(ends[2], y + TALL + 14, f"✗ due KV of {copy.source}", "wrong", "middle")


def _lane(y: float, words: str, x: dict[int, int], held: dict[int, str], wrong: int | None) -> list[Html]:
    shapes = [label(EDGE + NAMES - 10, y + TALL / 2 + 4, words, "lane", "end")]
    for slot, left in x.items():
        kind = "wrong" if slot == wrong else "plain"
        shapes.append(box(left, y, CELL, TALL, f"cell {kind}"))
        shapes.append(label(left + CELL / 2, y + TALL / 2 + 4, held[slot], "wrong" if slot == wrong else ""))
    return shapes
