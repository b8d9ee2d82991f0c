"""What the slots of a verify hold behind its move, and what of a row did not arrive by what a finding says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from speckv_debug.model.finding import Evidence, Finding
from speckv_debug.model.lettering import letter
from speckv_debug.model.verify import SlotMove, VerifyStep
from speckv_debug.viewers.html.copies import PAIR, copies_of, spoiled
from speckv_debug.viewers.html.evidence_links import COMPONENTS, HAZARD

Held = Mapping[int, str]
"""Slot → the letter of the verify row whose KV it holds."""
Lost = Mapping[int, str]
"""Target slot → what is wrong with it though its move ran: `due C`, `v not moved`."""


def written(step: VerifyStep) -> Held:
    """As the verify wrote it, before the move."""
    rows = {slot: letter(row) for row, slot in enumerate(step.out_cache_loc or ())}
    return rows or {m.source: letter(m.verify_row) for m in step.moves if m.source is not None}


def moved(step: VerifyStep) -> Held:
    """As the recorded pairs leave it, each taken from what stood there before the move."""
    before = written(step)
    return {
        **before,
        **{
            m.engine_target: before.get(m.engine_source, "")
            for m in step.moves
            if m.engine_source is not None and m.engine_target is not None
        },
    }


def lost(step: VerifyStep, finding: Finding | None) -> Lost:
    """What the finding's evidence says of pairs that ran and did not bring what they were to bring."""
    found: dict[int, str] = {}
    for evidence in finding.evidence if finding else ():
        if evidence.columns == COMPONENTS:
            found |= _components(step, finding.slots or (), evidence) if finding else {}
        elif evidence.columns == HAZARD:
            found |= _overwritten(step, evidence)
        elif finding and finding.rule == "MOV-CONTENT":
            slots = set(finding.slots or ())
            found |= {m.target: "other content" for m in _running(step) if m.target in slots}
    return found


def _running(step: VerifyStep) -> Iterator[SlotMove]:
    """Rows that have to go to another slot."""
    return (m for m in step.moves if m.target is not None and not m.in_place)


def _components(step: VerifyStep, slots: tuple[int, ...], evidence: Evidence) -> dict[int, str]:
    """The parts of each row that stayed behind; those of another pool are listed there by slots of its own."""
    main, found = evidence.rows[0][0] if evidence.rows else None, dict[int, str]()
    for move in _running(step):
        if not {move.source, move.target} <= set(slots):
            continue
        named = [evidence.rows[at] for at in evidence.marked]
        parts = [
            str(component) if pool == main else f"{component} of {pool}"
            for pool, component, _, _, left in named
            if pool != main or _lists(str(left), move)
        ]
        if parts and move.target is not None:
            found[move.target] = f"{', '.join(parts)} not moved"
    return found


def _lists(left: str, move: SlotMove) -> bool:
    """Whether the pair is among those left behind, as far as they are listed."""
    pairs = {(int(source), int(target)) for target, source in PAIR.findall(left)}
    return "…" in left or (move.source, move.target) in pairs


def _overwritten(step: VerifyStep, evidence: Evidence) -> dict[int, str]:
    """Targets of copies whose source was overwritten before they read it."""
    rows = [(str(row[0]), str(row[1]), k in evidence.marked) for k, row in enumerate(evidence.rows)]
    targets = {copy.target for copy in spoiled(copies_of(rows))}
    return {
        m.target: "overwritten before" for m in _running(step) if m.target is not None and m.target in targets
    }
