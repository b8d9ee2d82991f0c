"""From what a person types to a page of a pool's map: by number, by request, by use."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.page_map import PageMap
from speckv_debug.viewers.tui.page_signs import SIGNS

WANTS = "page number, request, pool, or a use: tree, session, reserve, free, conflict"
LONGEST = 18
"""Digits of a page number; one with more is none."""


def find_page(found: PageMap, text: str, here: int) -> int | None:
    """The page of that number, else the next one behind `here`, around the end, whose request or use has the text; None without any.

    `request 7` is about a request whose id is a number.
    """
    word, _, rest = text.partition(" ")
    if text.isdecimal() and len(text) < LONGEST:
        return int(text)
    by_request = word == "request" and bool(rest.strip())
    wanted = (rest.strip() if by_request else text).lower()
    matching = np.isin(found.holder, _holders(found, wanted, whole=by_request))
    if not by_request and not matching.any():
        matching = np.isin(found.use, [use for use, (_, _, words) in SIGNS.items() if wanted in words])
    pages = np.flatnonzero(matching) + found.first
    later = pages[pages > here]
    return int(later[0] if len(later) else pages[0]) if len(pages) else None


def find_pool(pools: tuple[str, ...], text: str) -> str | None:
    """The pool of that name."""
    return next((pool for pool in pools if pool.lower() == text.lower()), None)


def _holders(found: PageMap, wanted: str, *, whole: bool) -> list[int]:
    """Indices of the holders whose request has the text, or is it."""
    names = [(holder.request or "").lower() for holder in found.holders]
    return [at for at, name in enumerate(names) if (name == wanted if whole else wanted in name)]
