"""How a page is drawn: one sign for each use, requests by a digit or letter of their row."""

from __future__ import annotations

from speckv_debug.model.text import printable
from speckv_debug.replay.page_map import Holder
from speckv_debug.replay.pool_state import PoolPages, Use
from speckv_debug.viewers.tui import ink

OF_ROWS = "0123456789ABCDEFGHIJKMNPQRSUVWXYZ"
"""Of the request rows, over and over; L and T are the tree's, O looks like a zero."""
SIGNS: dict[Use, tuple[str, str, str]] = {
    Use.COMMITTED: ("0-9 A-Z", ink.PLACE, "committed, by its row"),
    Use.RESERVE: ("r", ink.PLACE, "reserve of a request"),
    Use.GRANTED: ("g", ink.PLACE, "granted, no row names it yet"),
    Use.LOCKED: ("L", f"bold {ink.GOOD}", "tree, locked"),
    Use.EVICTABLE: ("T", ink.GOOD, "tree, evictable"),
    Use.TREE: ("t", ink.GOOD, "tree, locks not recorded"),
    Use.SESSION: ("s", ink.GOOD, "saved by a session"),
    Use.TRANSFER: ("~", ink.DOUBT, "in transfer"),
    Use.WAITING: ("w", ink.FAINT, "waits in a free group"),
    Use.FREE: ("·", ink.FAINT, "free"),
    Use.UNHELD: ("!", f"bold {ink.DOUBT}", "held by nobody"),
    Use.CONFLICT: ("✗", ink.BAD, "conflict: two owners"),
    Use.UNKNOWN: ("?", ink.DOUBT, "unknown"),
}
"""Use → sign, style, words; in the order of a legend."""
ALWAYS = (Use.COMMITTED, Use.RESERVE, Use.LOCKED, Use.EVICTABLE, Use.FREE, Use.CONFLICT)
"""Named in a legend even where no page is used so."""
OF_OTHERS = (Use.GRANTED, Use.FREE)
"""The same, of a pool whose slots no row and no tree names."""


def words_of(use: Use, found: PoolPages) -> str:
    """What a page of this pool is used for, in words."""
    if use is Use.GRANTED and found.held_as is not None:
        return f"held as in pool {printable(found.held_as)}"
    return SIGNS[use][2]


def sign_of(use: Use, holder: Holder | None) -> str:
    """One character."""
    if use is not Use.COMMITTED:
        return SIGNS[use][0]
    return "#" if holder is None else OF_ROWS[holder.row % len(OF_ROWS)]
