"""What a drawing says by where things stand in it: where arrows go, what bars reach, which lane and place a cell is of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from speckv_debug.viewers.html.axis import EDGE, WIDTH
from speckv_debug.viewers.html.tree import RADIUS

SVG = re.compile("<svg.*?</svg>", re.DOTALL)
CURVE = re.compile(r"M([-\d.]+) ([-\d.]+)C.* ([-\d.]+) [-\d.]+$")
CURVE_ENDS = re.compile(r"M([-\d.]+) ([-\d.]+)C.* ([-\d.]+) ([-\d.]+)$")
TIP = re.compile(r"L([-\d.]+) ([-\d.]+)Z$")


def said_by_place(drawn: str) -> set[str]:
    """Of all drawings: `68 → 69 wrong` of an arrow, `due [0, 56)` of a bar, `slot used at 27: 66` of a cell."""
    said: set[str] = set()
    for picture in SVG.findall(drawn):
        svg = ElementTree.fromstring(picture)
        reader = READERS.get(svg.get("class", ""))
        said |= set(reader(svg)) if reader else set()
    return said


def _number(shape: Element, name: str) -> float:
    return float(shape.get(name, "nan"))


def _texts(svg: Element) -> list[tuple[float, float, str]]:
    return [(_number(t, "x"), _number(t, "y"), t.text or "") for t in svg.iter("text")]


def _arrows(svg: Element) -> Iterator[tuple[tuple[float, float], tuple[float, float], str]]:
    """Where each begins, where the tip of its head is, and its kind; the line has to end in the head."""
    for group in svg.iter("g"):
        curve, head = group.findall("path")
        begins, tip = CURVE.match(curve.get("d", "")), TIP.search(head.get("d", ""))
        assert begins and tip and begins[3] == tip[1], "the line ends beside its head"
        yield (float(begins[1]), float(begins[2])), (float(tip[1]), float(tip[2])), curve.get("class", "")


def _moves(svg: Element) -> Iterator[str]:
    """Slots by the names above them."""
    texts = _texts(svg)
    for (x1, y1), (x2, y2), kind in _arrows(svg):
        assert y2 > y1, "an arrow points down, from before to after"
        yield f"{_above(texts, x1)} → {_above(texts, x2)} {kind}"


def _above(texts: list[tuple[float, float, str]], x: float) -> str:
    return min((y, words) for at, y, words in texts if at == x)[1]


def _links(svg: Element) -> Iterator[str]:
    """From the name right above the beginning to the name right below the tip."""
    texts = _texts(svg)
    for (x1, y1), (x2, y2), kind in _arrows(svg):
        source = max((y, words) for at, y, words in texts if abs(at - x1) < 1 and y < y1)[1]
        target = min((y, words) for at, y, words in texts if abs(at - x2) < 1 and y > y2)[1]
        yield f"{source} → {target} {kind}"


def _spans(svg: Element) -> Iterator[str]:
    """The ends of the bars and of the points, read off the ruler below; a point has to stand at its own number."""
    texts = _texts(svg)
    ruler = max(y for _, y, _ in texts)
    first, last = (int(words.split()[-1]) for _, y, words in sorted(texts) if y == ruler)

    def position(x: float) -> int:
        return round(first + (x - EDGE) / (WIDTH - 2 * EDGE) * (last - first))

    for span in svg.iter("rect"):
        kind = span.get("class", "").removeprefix("span ")
        start = _number(span, "x")
        yield f"{kind} [{position(start)}, {position(start + _number(span, 'width'))})"
    marks = [position(_number(at, "x1")) for at in svg.iter("line") if "page" in at.get("class", "")]
    named = [int(words.split()[-1]) for t in svg.iter("text") if t.get("class") in ("wrong", "small") and _number(t, "y") < ruler and (words := t.text or "")]  # fmt: skip
    assert marks == named, "words that do not stand at their own number"


def _cells(svg: Element) -> Iterator[str]:
    """Each cell by the name of its lane on the left and the key above; `✗` below marks the place."""
    texts = _texts(svg)
    heads = {t.text: _number(t, "y") for t in svg.iter("text") if t.get("class") == "lane"}
    top = min(heads.values())
    keys = {x: words for x, y, words in texts if y == top and words not in heads}
    lanes = {y: name for name, y in heads.items()}
    for x, y, words in texts:
        if x in keys and y in lanes and y != top:
            yield f"{lanes[y]} at {keys[x]}: {words}"
        elif x in keys and words == "✗":
            yield f"✗ at {keys[x]}"


def _strips(svg: Element) -> Iterator[str]:
    """`KV p 28: B wrong` by the position right below the cell, `output 2: X bonus` by its column."""
    texts, columns = _texts(svg), sorted({_number(cell, "x") for cell in svg.iter("rect")})
    split = next(y for _, y, words in texts if words == "output gains")
    for cell in svg.iter("rect"):
        x, y, kind = _number(cell, "x"), _number(cell, "y"), cell.get("class", "").removeprefix("cell ")
        middle, foot = x + _number(cell, "width") / 2, y + _number(cell, "height")
        name = next(words for at, down, words in texts if at == middle and y < down < foot)
        below = [words for at, down, words in texts if at == middle and foot < down < foot + 16]
        where = f"KV {below[0] if below else columns.index(x)}" if y < split else f"output {columns.index(x)}"
        yield f"{where}: {name} {kind}"


def _tree(svg: Element) -> Iterator[str]:
    """`R → A accepted` of an edge by the discs at its ends, `C accepted` of a disc by the letter inside."""
    texts = _texts(svg)
    discs = {(_number(d, "cx"), _number(d, "cy")): d for d in svg.iter("circle")}
    names = {at: next(w for x, y, w in texts if x == at[0] and abs(y - at[1]) < 6) for at in discs}
    for at, disc in discs.items():
        yield f"{names[at]} {disc.get('class', '').removeprefix('node ')}"
    for edge in svg.iter("path"):
        ends = CURVE_ENDS.match(edge.get("d", ""))
        assert ends, "an edge is a curve"
        x1, y1, x2, y2 = map(float, ends.groups())
        start = min(discs, key=lambda at: abs(at[0] + RADIUS - x1) + abs(at[1] - y1))
        end = min(discs, key=lambda at: abs(at[0] - RADIUS - x2) + abs(at[1] - y2))
        yield f"{names[start]} → {names[end]} {edge.get('class', '').removeprefix('edge').strip() or 'plain'}"


def _life(svg: Element) -> Iterator[str]:
    """`2. held: step 9 ✗ free` of each event from top to bottom: the band below its mark, the words beside it."""
    texts = sorted(_texts(svg), key=lambda text: (text[1], text[0]))
    bands = {_number(b, "y"): b.get("class", "").removeprefix("band ") for b in svg.iter("rect")}
    for number, event in enumerate(sorted(svg.iter("circle"), key=lambda each: _number(each, "cy")), 1):
        y = _number(event, "cy")
        words = " ".join(said for _, down, said in texts if abs(down - 4 - y) < 1 and said)
        mark = "✗ " if "wrong" in event.get("class", "") else ""
        assert bool(mark) == ("✗" in words), "a mark without its word"
        yield f"{number}. {bands.get(y, 'no band')}: {words}"


def _pages(svg: Element) -> Iterator[str]:
    """`page 26 at the event: ✗! r1` by the number above and the moment on the left, with the name right below."""
    texts = _texts(svg)
    top = next(y for _, y, words in texts if words == "page")
    numbers = {x: words for x, y, words in texts if y == top and words != "page"}
    for cell in svg.iter("rect"):
        middle, y = _number(cell, "x") + _number(cell, "width") / 2, _number(cell, "y")
        foot = y + _number(cell, "height")
        moment = next(words for x, down, words in texts if x not in numbers and y < down < foot)
        sign = next(words for x, down, words in texts if x == middle and y < down < foot)
        name = [words for x, down, words in texts if x == middle and foot < down < foot + 12]
        yield f"page {numbers[middle]} {moment}: {' '.join([sign, *name])}"


def _sums(svg: Element) -> Iterator[str]:
    """`free 8, tree 28` of each bar, amounts by the widths of its parts over one scale; the words above it say whose."""
    parts = [
        (p.get("class", "").removeprefix("part "), _number(p, "y"), _number(p, "width") + 1)
        for p in svg.iter("rect")
    ]
    texts = [(y, words) for _, y, words in _texts(svg)]
    told = [
        (wide, int(words))
        for kind, y, wide in parts
        for at, words in texts
        if y < at < y + 30 and words.isdigit()
    ]
    assert told, "no amount stands in a part"
    unit = max(wide for wide, _ in told) / max(amount for _, amount in told)
    for top in sorted({y for _, y, _ in parts}):
        name = max((at, words) for at, words in texts if at < top)[1].partition(":")[0]
        yield f"{name}: {', '.join(f'{kind} {round(wide / unit)}' for kind, y, wide in parts if y == top)}"


READERS: dict[str, Callable[[Element], Iterator[str]]] = {
    "lanes": _moves,
    "copies": _moves,
    "arrows": _links,
    "axis": _spans,
    "cells": _cells,
    "strips": _strips,
    "tree": _tree,
    "life": _life,
    "pages": _pages,
    "sums": _sums,
}
"""Class of a drawing → what it says by where things stand."""
