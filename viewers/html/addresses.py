"""The rows of a verify and the slots that they are written to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from speckv_debug.model.lettering import letter
from speckv_debug.model.verify import VerifyStep
from speckv_debug.viewers.html.arrows import Link, draw_links
from speckv_debug.viewers.html.markup import Html


def draw_addresses(step: VerifyStep, named: Collection[int] = (), words: str = "") -> Html:
    """An arrow a verify row; a slot that several rows get is marked, and so are the named ones, with these words."""
    slots = step.out_cache_loc or ()
    times = Counter(slots)
    links = []
    for row, slot in enumerate(slots):
        told = f"from {times[slot]} rows" if times[slot] > 1 else words if slot in named else ""
        links.append(Link(letter(row), str(slot), bool(told), told))
    return draw_links(links, "verify rows", "slots", "Where the verify writes")
