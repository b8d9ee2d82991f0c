"""Evidence tables about who names what, as arrows; about amounts, as bars; about copies, in their order."""

from __future__ import annotations

import re
from collections import Counter

from speckv_debug.model.finding import Cell, Evidence, Finding
from speckv_debug.viewers.html.arrows import Link, draw_links
from speckv_debug.viewers.html.copies import copies_of, draw_copies
from speckv_debug.viewers.html.evidence_lives import PEER
from speckv_debug.viewers.html.markup import Html
from speckv_debug.viewers.html.sums import Bar, Part, draw_sums

POOL = ("held by", "slots by the engine", "slots by the events", "pages")
COMPONENTS = ("pool", "component", "pairs moved", "due", "left behind")
WRITERS = ("slot", "request", "request row", "entry", "seq")
WRITER = ("", "who", "row", "epoch", "slots", "positions")
PADS = ("entry", "slot", "")
HAZARD = ("pair", "move", "")
KINDS = {"free": "free", "tree": "tree", "sessions": "session", "running requests": "held"}


def linked(evidence: Evidence, finding: Finding) -> Html:
    """The table as arrows, bars or copies if it is of such a kind, else nothing."""
    if evidence.columns == HAZARD:
        rows = [
            (f"pair {row[0]} {row[2]}", str(row[1]), k in evidence.marked)
            for k, row in enumerate(evidence.rows)
        ]
        return draw_copies(copies_of(rows))
    makers = {POOL: _pool, COMPONENTS: _components, WRITERS: _writers, WRITER: _writer, PADS: _pads}
    return makers[evidence.columns](evidence) if evidence.columns in makers else Html()


def peers(finding: Finding) -> Html:
    """The full slots that a finding is about and the slots of another pool that they are mapped to at last."""
    told = [e for e in finding.evidence if e.columns == PEER and e.rows]
    last = [(re.sub(r"^mapping of ", "", e.title).partition(",")[0], str(e.rows[-1][2])) for e in told]
    shared = {peer for peer, count in Counter(peer for _, peer in last).items() if count > 1}
    links = [Link(full, f"peer {peer}", peer in shared, "two full slots, one peer") for full, peer in last]
    return draw_links(links, "full pool", "other pool", "Mapping")


def _number(value: Cell) -> int:
    return value if isinstance(value, int) else 0


def _pool(evidence: Evidence) -> Html:
    """What the engine counts beside what the events leave; running requests are told by the events alone."""
    rows = {str(row[0]): row for row in evidence.rows}
    whole = _number(rows["all"][1]) if "all" in rows else 0
    bars = []
    for name, column in (("the engine counts", 1), ("the events leave", 2)):
        parts = [Part(each, _number(row[column]), KINDS[each]) for each, row in rows.items() if each in KINDS]
        if column == 1 and "running requests" in rows:
            parts[-1] = Part(
                "running requests", _number(rows["running requests"][2]), KINDS["running requests"]
            )
        lost = whole - sum(part.amount for part in parts)
        told = f"{whole - lost} of {whole} slots" + (
            f", {lost} nobody's" if lost > 0 else f", {-lost} too many" if lost else ""
        )
        bars.append(Bar(name, (*parts, Part("nobody's", max(lost, 0), "missing")), told, wrong=lost != 0))
    return draw_sums(bars, evidence.title)


def _components(evidence: Evidence) -> Html:
    bars = []
    for k, (pool, component, moved, due, left) in enumerate(evidence.rows):
        parts = (
            Part("pairs moved", _number(moved), "tree"),
            Part("left behind", _number(due) - _number(moved), "missing"),
        )
        words = f"{moved} of {due} pairs moved" + (f", left behind {left}" if left else "")
        bars.append(Bar(f"{component} of pool {pool}", parts, words, wrong=k in evidence.marked))
    return draw_sums(bars, evidence.title)


def _writers(evidence: Evidence) -> Html:
    counts = Counter(row[0] for row in evidence.rows)
    links = [
        Link(f"entry {entry} of {request}", f"slot {slot}", counts[slot] > 1, f"written {counts[slot]} times")
        for slot, request, _, entry, _ in evidence.rows
    ]
    return draw_links(links, "rows of the forward", "slots", evidence.title)


def _writer(evidence: Evidence) -> Html:
    """Who writes and who holds or reads a page."""
    slots = next((row[4] for row in evidence.rows if row[4] is not None), "the page")
    links = []
    for k, (does, who, _, _, _, positions) in enumerate(evidence.rows):
        words = f"{who} {does}" + (f" {positions}" if positions else "")
        links.append(Link(words, f"slots {slots}", k in evidence.marked, "not the writer's alone"))
    return draw_links(links, "who", "where", evidence.title)


def _pads(evidence: Evidence) -> Html:
    links = [Link(f"pad {row[0]}", f"{row[1]}", row[2] == "✗", "of others") for row in evidence.rows]
    links = [
        Link(link.source, link.target, link.wrong, link.words if k == 0 else "")
        for k, link in enumerate(links)
    ]
    return draw_links(links, "rows that only pad the batch", "slots that they write", evidence.title)
