"""What a drawing says by where things stand in it: where arrows go, what bars reach, which lane and place a cell is of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from speckv_debug.viewers.html.axis import EDGE, WIDTH

SVG = re.compile("<svg.*?</svg>", re.DOTALL)
CURVE = re.compile(r"M([-\d.]+) ([-\d.]+)C.* ([-\d.]+) [-\d.]+$")
TIP = re.compile(r"L([-\d.]+) ([-\d.]+)Z$")


def said_by_place(drawn: str) -> set[str]:
    """Of all drawings: `68 → 69 wrong` of an arrow, `due [0, 56)` of a bar, `slot used at 27: 66` of a cell."""
    said: set[str] = set()
    for picture in SVG.findall(drawn):
        svg = ElementTree.fromstring(picture)
        reader = {"lanes": _moves, "copies": _moves, "arrows": _links, "axis": _spans, "cells": _cells}.get(
            svg.get("class", "")
        )
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
