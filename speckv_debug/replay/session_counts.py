"""How many slots an engine may count as those of its sessions at a settled point."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.replay.ragged import Int64s, Mask, mask

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger

TRIM = "session_trim"
ENDING = ("session_save", "session_close")


def turns_run(ledger: Ledger, seq: Int64s) -> Mask:
    """At which of these `seq` a turn of a session may run that went on from what was saved."""
    running = mask(np.full(len(seq), bool(ledger.totals.turns)))
    for _, first, end in turns(ledger):
        running |= (seq > first) & ((seq < end) if end is not None else True)
    return running


def turns(ledger: Ledger) -> list[tuple[str | None, int, int | None]]:
    """Request, `seq` of the restore, and of the turn's end (None if it has none), of each turn that goes on."""
    columns = ledger.events.slots["cache"].columns
    restores = np.flatnonzero(columns.texts("action").equal("session_restore"))
    if not len(restores):
        return []
    requests, seqs, ends = columns.texts("request"), columns.ints("seq"), _ends(ledger)
    found = []
    for index in restores.tolist():
        first, name = int(seqs[index]), requests[index]
        of_request = ends.get(name or "", [])
        at = bisect_right(of_request, first)
        found.append((name, first, of_request[at] if at < len(of_request) else None))
    return found


def open_turns(ledger: Ledger) -> set[str | None]:
    """Requests of turns that have not ended when the ledger's events do."""
    ends = _ends(ledger) if ledger.totals.turns else {}
    return {name for name in ledger.totals.turns if name is None or name not in ends} | {
        name for name, _, end in turns(ledger) if end is None
    }


def _ends(ledger: Ledger) -> dict[str, list[int]]:
    """Request → `seq` of what ends a turn of its name, ascending."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    cache, release = ledger.events.slots["cache"].columns, ledger.events.rows["release"].columns
    ending = cache.texts("action").equal(*ENDING)
    final = release.texts("kind").known & ~release.texts("kind").equal(TRIM)
    for columns, which in ((cache, ending), (release, final)):
        names, seqs = columns.texts("request"), columns.ints("seq")
        for index in np.flatnonzero(which).tolist():
            if (name := names[index]) is not None:
                found[name].append(int(seqs[index]))
    return {name: sorted(each) for name, each in found.items()}
