"""One verify as pictures: which ones, in which order, for the law that a finding is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from speckv_debug.model.finding import Finding
from speckv_debug.model.verify import VerifyStep
from speckv_debug.viewers.html.addresses import draw_addresses
from speckv_debug.viewers.html.evidence_cells import INDEX
from speckv_debug.viewers.html.lanes import draw_lanes
from speckv_debug.viewers.html.markup import Html
from speckv_debug.viewers.html.room import draw_room
from speckv_debug.viewers.html.strips import draw_strips
from speckv_debug.viewers.html.tree import Note, draw_tree

Drawing = tuple[str, Callable[[VerifyStep], Html]]

TREE: Drawing = ("Draft tree", draw_tree)
LANES: Drawing = ("KV of the accepted rows", draw_lanes)
MOVED: Drawing = (LANES[0], partial(draw_lanes, judged=True))
STRIPS: Drawing = ("Same length, one token apart", draw_strips)
ROOM: Drawing = ("Room", draw_room)
ADDRESSES: Drawing = ("Where the verify writes", draw_addresses)
OUTSIDE = "outside the pool"

BY_FAMILY: dict[str, tuple[Drawing, ...]] = {
    "ACC": (TREE, STRIPS),
    "LOC": (LANES, TREE),
    "MOV": (MOVED, TREE, STRIPS),
    "LEN": (ROOM, STRIPS),
    "OWN": (ROOM,),
    "TRC": (),
}
BY_RULE: dict[str, tuple[Drawing, ...]] = {
    "ACC-SHIFT": (STRIPS, TREE),
    "LOC-UNIQ": (ADDRESSES,),
    "LOC-RANGE": (ADDRESSES,),
    "LOC-PAD": (),
    "LOC-OWNED": (),
    "LOC-GROUP": (),
    "LOC-WIDTH": (ROOM,),
    "OWN-REF": (),
    "OWN-ROW": (),
    "OWN-MAP": (),
    "ST-MAMBA": (TREE,),
    "ST-C128": (TREE, STRIPS),
}
"""Rules that need others than their family."""
COMMITS = ("seq", "step", "request", "accept", "row due", "row kept")


def of_step(step: VerifyStep, finding: Finding) -> Iterator[tuple[str, Html]]:
    """Title and picture of what fits the family of the finding's rule; a picture without its data is empty."""
    family = BY_FAMILY.get(finding.rule.partition("-")[0], (TREE, LANES, STRIPS))
    drawings = BY_RULE.get(finding.rule, family)
    notes = notes_of(step, finding)
    for title, picture in drawings:
        if title == TREE[0]:
            yield title, draw_tree(step, notes)
        elif title == ADDRESSES[0] and finding.rule == "LOC-RANGE":
            yield title, draw_addresses(step, finding.slots or (), OUTSIDE)
        else:
            yield title, picture(step)


def notes_of(step: VerifyStep, finding: Finding) -> dict[int, Note]:
    """What the finding's evidence says of single rows of the tree: which is wrong, which one was due instead."""
    notes: dict[int, Note] = {}
    for evidence in finding.evidence:
        if evidence.columns == INDEX and finding.rule == "ACC-CHAIN":
            for k in evidence.marked:
                notes |= _chosen(step, k)
        if evidence.columns == COMMITS and evidence.rows:
            *_, due, kept = evidence.rows[-1]
            if isinstance(due, int) and isinstance(kept, int):
                notes |= {due: Note(f"row {due} due", False), kept: Note(f"✗ row {kept} kept", True)}
    return notes


def _chosen(step: VerifyStep, k: int) -> dict[int, Note]:
    """The k-th accepted row as wrong, and the child of the row before that the target chose."""
    if not 0 < k < len(step.accepted):
        return {}
    parent, wrong = step.accepted[k - 1], step.accepted[k]
    chosen = step.predict[parent] if step.predict is not None and parent < len(step.predict) else None
    notes = {wrong: Note("✗ accepted", True)}
    for child in step.tree.children(parent):
        if child != wrong and chosen is not None and step.tree.tokens[child] == chosen:
            notes[child] = Note("target's choice", False)
    return notes
