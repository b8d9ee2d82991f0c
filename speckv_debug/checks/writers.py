"""LOC-OWNED: a slot is written only by a request that holds its page."""

from __future__ import annotations

from dataclasses import replace

from speckv_debug.checks.evidence import named
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ledger_facts import Broken
from speckv_debug.replay.ownership import EventFacts
from speckv_debug.replay.page_history import page_history, ranges, slots_in
from speckv_debug.replay.places import Place

SHOWN = 8
HISTORIES = 2
"""Pages whose history a finding shows; the others are named only."""


@rule(
    "LOC-OWNED",
    severity=ERROR,
    needs=("alloc", "free", "table_write"),
    scope="writers",
    look_at="assign_extend_cache_locs_func (out_cache_loc), alloc_for_extend (prefix_lens)",
    follows=(
        *("OWN-ALIAS", "OWN-DFREE", "OWN-PAGESAFE", "OWN-UAF"),
        *(
            "LOC-ROW",
            "LOC-UNIQ",
            "LOC-PAD",
            "LOC-GROUP",
            "OWN-MAP",
            "LEN-ALLOC",
            "LEN-REACH",
            "LEN-SEQ",
            "OWN-ROW",
        ),
    ),
)
def written_by_its_holder(writers: EventFacts) -> Judgement:
    """A forward writes to slots of pages that its request holds and that no node of the prefix tree has taken.

    Held is what was granted to the request's row, and what its row names. The draft pool uses the target's ids. A slot of a
    sliding window's pool is its holder's whose slot has it as a peer (`swa_map`). Of other pools with ids of their own, holders
    are not followed: what is written there is unknown.

    Exceptions: rows that pad the batch and the dummy slots; transfers, which write before there is a row, or into pages of
    the tree, are no forwards; a page in the free list is OWN-UAF's to judge; a verify that was in flight when its request
    ended; a page that was granted to nobody by name is unknown; a chunk of a prompt that the tree took in the step in which
    it was granted, and that its request's forward of this step writes once.
    """
    return Judgement(failed=writers.failed, unknown=writers.unknown, explain=lambda i: _explain(writers, i))


def _explain(writers: EventFacts, i: int) -> Details:
    broken, place, (table, row) = writers.broken(i), writers.place(i), writers.event(i)
    ledger, events = writers.ledger, writers.ledger.events
    mode = "verify" if table == "accept" else events.table(table).texts("mode")[row] or "forward"
    who = f"the {mode} of {named(place.request)} writes"
    if broken.way == "nobody":
        return _explain_nobodys(place, broken, who)
    peers = table == "forward" and bool(events.window.strayed[row])
    rows = events.accept_written if table == "accept" else events.slots[table]
    slots = slots_in(events.window_written if peers else rows, row, broken.pages)
    main = replace(place, pool=ledger.namespaces.main_name)
    what = f"page {broken.pages[0]}" if not broken.pages[1:] else f"pages {ranges(broken.pages)}"
    through = f"in pool {place.pool} the peers of slots" if peers else "slots"
    return Details(
        message=f"{who} {through} {ranges(slots)} in {what} of pool {main.pool}, {_held(ledger, broken)}",
        expected=f"pages that row {place.row}, epoch {place.epoch}, holds alone",
        actual=f"{what}: {_holder(ledger, broken)}",
        slots=slots,
        pages=broken.pages,
        evidence=(
            _who_writes(ledger, place, broken, slots),
            *(page_history(ledger, main.pool, page, place.seq) for page in broken.pages[:HISTORIES]),
        ),
        place=main if peers else None,
    )


def _explain_nobodys(place: Place, broken: Broken, who: str) -> Details:
    """Slots of a window's pool that the mapping gives to no slot of the main one."""
    rows: tuple[tuple[Cell, ...], ...] = tuple((slot, "nobody's peer") for slot in broken.slots[:SHOWN])
    more = f", the first {SHOWN} of {len(broken.slots)}" if broken.slots[SHOWN:] else ""
    return Details(
        message=f"{who} slots {ranges(broken.slots)} of pool {place.pool}, which are nobody's peers",
        expected=f"peers of slots that row {place.row}, epoch {place.epoch}, holds",
        actual=f"slots {ranges(broken.slots, SHOWN)}",
        slots=broken.slots,
        evidence=(
            Evidence(title=f"slots of pool {place.pool}{more}", columns=("slot", "held by"), rows=rows),
        ),
    )


def _who_writes(ledger: Ledger, place: Place, broken: Broken, slots: tuple[int, ...]) -> Evidence:
    """The writer and the holder, with slots and positions."""
    at = None if broken.positions is None else f"[{broken.positions[0]}, {broken.positions[1] + 1})"
    rows: list[tuple[Cell, ...]] = [
        ("writes", place.request, place.row, place.epoch, ranges(slots, 12), None)
    ]
    if broken.way == "tree":
        rows.append(("holds", "the prefix tree", None, None, None, None))
    if broken.other is not None:
        other = ledger.tenures[broken.other]
        verb = "reads" if broken.way == "tree" else "saved" if broken.way == "session" else "holds"
        rows.append((verb, other.request, other.row, other.epoch, None, at))
    columns = ("", "who", "row", "epoch", "slots", "positions")
    return Evidence(title="writer and holder", columns=columns, rows=tuple(rows), marked=(0,))


def _held(ledger: Ledger, broken: Broken) -> str:
    them = "which" if not broken.pages[1:] else "all of which"
    return f"{them} {_holder(ledger, broken)}"


def _holder(ledger: Ledger, broken: Broken) -> str:
    """Who holds the pages, as the end of a sentence about them."""
    verb = "is" if not broken.pages[1:] else "are"
    if broken.way == "tree":
        return f"{verb} part of the prefix tree"
    who = "another request" if broken.other is None else named(ledger.tenures[broken.other].request)
    return {
        "owner": f"{verb} granted to {who}",
        "session": f"{verb} kept by the session of {who}",
        "row": f"{verb} named by the row of {who}",
    }[broken.way]
