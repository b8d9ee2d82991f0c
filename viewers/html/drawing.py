"""One verify as pictures: which ones, in which order, for the law that a finding is about."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from speckv_debug.model.verify import VerifyStep
from speckv_debug.viewers.html.lanes import draw_lanes
from speckv_debug.viewers.html.markup import Html, element, joined
from speckv_debug.viewers.html.room import draw_room
from speckv_debug.viewers.html.strips import draw_strips
from speckv_debug.viewers.html.tree import draw_tree

Drawing = tuple[str, Callable[[VerifyStep], Html]]

TREE: Drawing = ("Draft tree", draw_tree)
LANES: Drawing = ("KV of the accepted rows", draw_lanes)
MOVED: Drawing = (LANES[0], partial(draw_lanes, judged=True))
STRIPS: Drawing = ("Same length, one token apart", draw_strips)
ROOM: Drawing = ("Room", draw_room)

BY_FAMILY: dict[str, tuple[Drawing, ...]] = {
    "ACC": (TREE, STRIPS),
    "LOC": (LANES, TREE),
    "MOV": (MOVED, TREE, STRIPS),
    "LEN": (ROOM, STRIPS),
    "OWN": (ROOM,),
    "TRC": (),
}


def draw(step: VerifyStep, rule: str) -> Html:
    """The pictures that fit the family of `rule`; a picture without its data is left out."""
    drawings = BY_FAMILY.get(rule.partition("-")[0], (TREE, LANES, STRIPS))
    figures = [_framed(title, picture(step)) for title, picture in drawings]
    shown = [figure for figure in figures if figure]
    return element("div", *shown, class_="drawings") if shown else Html()


def _framed(title: str, picture: Html) -> Html:
    return element("figure", element("figcaption", title), picture) if picture else joined(())
