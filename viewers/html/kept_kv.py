"""What KV has at the places that a verify commits, where a finding or the recorded moves say that it is not what is due."""

from __future__ import annotations

from collections.abc import Mapping

from speckv_debug.model.finding import Cell, Evidence, Finding
from speckv_debug.model.lettering import letter
from speckv_debug.model.verify import VerifyStep
from speckv_debug.viewers.html.after_move import lost, moved
from speckv_debug.viewers.html.evidence_axes import commit_of

Kept = Mapping[int, tuple[str, int | None, str]]
"""Place k → the letter and token that KV has there, and what is to be said of it."""
AS_DUE: Kept = {}
NOTHING = "–"
MOST_BEYOND = 4
"""Places behind the accepted rows that are drawn."""
SEQUENCE = ("seq", "step", "seq_len", "accept_len", "new_seq_len")


def kept_kv(step: VerifyStep, finding: Finding | None = None) -> Kept:
    """What the lengths leave out or add goes before what the moves leave elsewhere."""
    by_moves = finding is None or finding.rule.startswith("MOV")
    return {**(_moved(step, finding) if by_moves else {}), **(_counted(step, finding) if finding else {})}


def _moved(step: VerifyStep, finding: Finding | None) -> Kept:
    """Slots that do not end with the row that is due, as far as a move was recorded or a law about moves was broken."""
    if finding is None and not any(m.engine_source is not None for m in step.moves):
        return {}
    after, parts, rows = (
        moved(step),
        lost(step, finding),
        {letter(r): r for r in range(len(step.tree.tokens))},
    )
    kept: dict[int, tuple[str, int | None, str]] = {}
    for move in step.moves:
        wanted = letter(move.verify_row)
        if move.target is None:
            continue
        if (name := after.get(move.target, wanted)) != wanted:
            token = step.tree.tokens[rows[name]] if name in rows else None
            kept[move.k] = (name or "?", token, f"due {wanted}")
        elif move.target in parts:
            kept[move.k] = (wanted, move.token, parts[move.target])
    return kept


def _counted(step: VerifyStep, finding: Finding) -> Kept:
    """Places between the length that is due and the one that the engine has."""
    told = next((both for e in finding.evidence if (both := _lengths(step, finding, e))), None)
    if told is None or step.seq_len is None:
        return {}
    due, has = told
    kept: dict[int, tuple[str, int | None, str]] = {}
    for k in range(max(0, min(told) - step.seq_len), max(told) - step.seq_len):
        known = k < len(step.accepted)
        name = letter(step.accepted[k]) if known else "?"
        if has < due and known:
            kept[k] = (NOTHING, None, f"due {name}")
        elif has > due and k < len(step.accepted) + MOST_BEYOND:
            kept[k] = (name, step.kv_tokens[k] if known else None, "none due")
    return kept


def _lengths(step: VerifyStep, finding: Finding, evidence: Evidence) -> tuple[int, int] | None:
    """The length that is due and the one that the engine has, of a finding about what this verify commits."""
    before, accepted, after = _commit(finding, evidence) or (None, None, None)
    if not (isinstance(before, int) and isinstance(accepted, int) and isinstance(after, int)):
        return None
    return (before + accepted, after) if before == step.seq_len else None


def _commit(finding: Finding, evidence: Evidence) -> tuple[Cell, Cell, Cell] | None:
    """Length before, rows that are due on top, and the length behind it."""
    if evidence.columns == SEQUENCE and evidence.marked:
        _, _, before, accepted, after = evidence.rows[evidence.marked[0]]
        return before, accepted, after
    told = commit_of(evidence)
    if told is not None and finding.rule == "LEN-STALE":
        return told[0], 0, told[2]
    one = told is not None and finding.rule == "LEN-COMMIT" and len(told[1]) == 1
    return (told[0], told[1][0], told[2]) if told and one else None
