"""Whether a free returns pages that something still lives in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.replay.ledger_book import NOBODY
from speckv_debug.replay.ledger_facts import Broken
from speckv_debug.replay.ledger_rows import tenure_of
from speckv_debug.replay.ledger_tenure import Tenure
from speckv_debug.replay.ragged import Int64s

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger

LEAVES_ROW = ("reject", "swa_window")
"""Reasons with which a live row gives up some of its own positions: their entries are stale at once."""
TAIL = ("overshoot", "session_trim")
OF_THE_LIVING = (*LEAVES_ROW, *TAIL, "duplicate_prefix")
"""Reasons with which a request that runs gives up pages of its own."""
NAMELESS = "the free names no request: it may be the one whose row names the pages"


def judge_safety(ledger: Ledger, index: int, pages: Int64s, code: int) -> None:
    """Judge one free of the main pool as it takes effect; `code` where nothing speaks against it."""
    rows = ledger.events.slots["free"]
    reason, freer = rows.texts("reason")[index], tenure_of(ledger, "free", index)
    ledger.facts.mark("unsafe", "free", index, code)
    _judge_tree(ledger, index, pages, reason)
    _break_sessions(ledger, pages)
    if len(hot := pages[ledger.main.refs[pages] > 0]):
        _judge_rows(ledger, index, hot, freer, reason)
    if freer is not None and reason in TAIL:
        _judge_tail(ledger, index, freer)


def _judge_tree(ledger: Ledger, index: int, pages: Int64s, reason: str | None) -> None:
    held = pages[ledger.main.tree[pages] > 0]
    if len(held) and (reason != "evict" or ledger.info.records("cache", "evict")):
        ledger.facts.fail("unsafe", "free", index, Broken(way="tree", pages=tuple(held.tolist())))


def _break_sessions(ledger: Ledger, pages: Int64s) -> None:
    """A session that saved the page finds it gone when it is restored."""
    for page in pages[ledger.main.session[pages] != NOBODY].tolist():
        saver = ledger.tenures[int(ledger.main.session[page])]
        saver.stale = saver.stale | {page}


def _judge_rows(ledger: Ledger, index: int, hot: Int64s, freer: Tenure | None, reason: str | None) -> None:
    nameless = freer is None and _own(ledger, reason)
    for tenure in ledger.running():
        positions = tenure.positions(hot)
        if not len(positions):
            continue
        if (nameless or tenure is freer) and reason in LEAVES_ROW:
            tenure.drop(ledger.main, ledger.events.slots["free"].slots(index))
            if not len(positions := tenure.positions(hot)):
                continue
        tenure.stale = tenure.stale.union(tenure.pages[positions].tolist())
        live = positions[positions < tenure.trim_to] if tenure is freer else positions
        if nameless:
            ledger.facts.mark("unsafe", "free", index, ledger.facts.reason(NAMELESS))
        elif len(live):
            _fail(ledger, index, "row", tenure, live)


def _own(ledger: Ledger, reason: str | None) -> bool:
    """Whether a free may come from the row that names the pages; nobody's row evicts, and an end is told before."""
    return reason in OF_THE_LIVING or (reason != "evict" and not ledger.info.records("release"))


def _judge_tail(ledger: Ledger, index: int, freer: Tenure) -> None:
    """The free of a tail names no position before the page boundary behind what is kept."""
    before = freer.slots[: max(0, min(freer.tail, freer.extent))]
    named = np.isin(before, ledger.events.slots["free"].slots(index)) & (before >= 0)
    named &= ~np.isin(before, freer.slots[len(before) : freer.extent])
    if named.any():
        _fail(ledger, index, "tail", freer, np.flatnonzero(named).astype(np.int64))


def _fail(ledger: Ledger, index: int, way: str, other: Tenure, positions: Int64s) -> None:
    pages = tuple(np.unique(other.pages[positions]).tolist())
    ends = (int(positions[0]), int(positions[-1]))
    broken = Broken(way=way, pages=pages, other=other.id, positions=ends)
    ledger.facts.fail("unsafe", "free", index, broken)
