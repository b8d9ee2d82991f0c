"""One verify as pictures: which ones, in which order, for the law that a finding is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from speckv_debug.model.finding import Evidence, Finding
from speckv_debug.model.verify import VerifyStep
from speckv_debug.viewers.html.addresses import draw_addresses
from speckv_debug.viewers.html.after_move import Lost, lost
from speckv_debug.viewers.html.evidence_cells import INDEX
from speckv_debug.viewers.html.kept_kv import Kept, kept_kv
from speckv_debug.viewers.html.lanes import draw_lanes
from speckv_debug.viewers.html.markup import Html
from speckv_debug.viewers.html.room import draw_room
from speckv_debug.viewers.html.strips import draw_strips
from speckv_debug.viewers.html.tree import Note, draw_tree

Drawing = tuple[str, Callable[[VerifyStep], Html]]

TREE: Drawing = ("Draft tree", draw_tree)
LANES: Drawing = ("KV of the accepted rows", draw_lanes)
STRIPS: Drawing = ("Same length, one token apart", draw_strips)
ROOM: Drawing = ("Room", draw_room)
ADDRESSES: Drawing = ("Where the verify writes", draw_addresses)
OUTSIDE = "outside the pool"

BY_FAMILY: dict[str, tuple[Drawing, ...]] = {
    "ACC": (TREE, STRIPS),
    "LOC": (LANES, TREE),
    "MOV": (LANES, TREE, STRIPS),
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
        elif title == LANES[0]:
            yield title, draw_lanes(step, judged=finding.rule.startswith("MOV"), lost=lost(step, finding))
        elif title == STRIPS[0]:
            yield title, draw_strips(step, kept_kv(step, finding))
        elif title == ADDRESSES[0] and finding.rule == "LOC-RANGE":
            yield title, draw_addresses(step, finding.slots or (), OUTSIDE)
        else:
            yield title, picture(step)


@dataclass(frozen=True, slots=True)
class Said:
    """What findings say of one verify: of rows of the tree, of slots whose move ran, of places of the strips."""

    notes: Mapping[int, Note]
    lost: Lost
    kept: Kept
    judged: bool


def said_of(step: VerifyStep, findings: Sequence[Finding]) -> Said:
    """What the findings say together; without any, what the recorded moves show."""
    notes, parts, kept = dict[int, Note](), dict[int, str](), dict(kept_kv(step))
    for finding in findings:
        notes |= notes_of(step, finding)
        parts |= lost(step, finding)
        kept |= kept_kv(step, finding)
    return Said(notes, parts, kept, any(finding.rule.startswith("MOV") for finding in findings))


def of_every_step(step: VerifyStep, said: Said) -> Iterator[tuple[str, Html]]:
    """Title and picture of all that a verify can be drawn as."""
    yield TREE[0], draw_tree(step, said.notes)
    yield LANES[0], draw_lanes(step, judged=said.judged, lost=said.lost)
    yield STRIPS[0], draw_strips(step, said.kept)
    yield ROOM[0], draw_room(step)


def notes_of(step: VerifyStep, finding: Finding) -> dict[int, Note]:
    """What the finding's evidence says of single rows of the tree: which is wrong, which one was due instead."""
    notes: dict[int, Note] = {}
    for evidence in finding.evidence:
        if evidence.columns == INDEX and finding.rule == "ACC-CHAIN":
            for k in evidence.marked:
                notes |= _chosen(step, k)
        if evidence.columns == INDEX and finding.rule == "ACC-COUNT":
            notes |= dict.fromkeys(_beyond(step, evidence), Note("✗ in accept_index", True))
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


def _beyond(step: VerifyStep, evidence: Evidence) -> Iterator[int]:
    """Rows that the marked places of accept_index name beside the accepted path."""
    for k in evidence.marked:
        named = evidence.rows[k][1]
        row = named - step.block_start if isinstance(named, int) else -1
        if 0 <= row < len(step.tree.tokens) and row not in step.accepted:
            yield row
