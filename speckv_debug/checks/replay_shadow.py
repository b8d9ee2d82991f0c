"""RPL-SHADOW: a shadow cache that is written and moved as the engine's was holds each request's own tokens in order."""

from __future__ import annotations

from speckv_debug.checks.evidence import number
from speckv_debug.checks.move import ACCEPTS, MOVER
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.replay.ragged import NULL
from speckv_debug.replay.shadow_finds import Held
from speckv_debug.replay.shadow_replay import ShadowReplay

KERNEL = "kernels.move.move_slots"
LAWS = ("LOC-ROW", "LOC-UNIQ", "LOC-RANGE", "LOC-PAD", "LOC-WIDTH", "MOV-PAIR", "MOV-MISSING")
LENGTHS = ("LEN-SEQ", "LEN-ALLOC", "LEN-COMMIT", "LEN-ORDER")
REPLAYED = ("RPL-ACCEPT", "RPL-LOC", "RPL-MOVE", "RPL-COMPACT")
HOLDERS = ("OWN-ALIAS", "OWN-UAF", "OWN-DFREE", "OWN-PAGESAFE")
SHOWN = 16
"""Positions that the evidence lists; the message counts all."""


@rule(
    "RPL-SHADOW",
    severity=ERROR,
    needs=(),
    scope="shadow",
    look_at="set_kv_buffer at out_cache_loc, then " + MOVER,
    follows=(*ACCEPTS, *LAWS, *LENGTHS, *HOLDERS, *REPLAYED),
)
def committed_prefix(replay: ShadowReplay) -> Judgement:
    """Replayed by `kernels.move.move_slots`, each position of a committed prefix holds the row that was written for it.

    A cache that holds identities (request, epoch, position, token, version) is written by the recorded forwards and moved by
    the recorded mover calls. When a request's next forward reads its prefix, what was committed since its last one must
    lie where its row points, and nothing that lay there may have changed.

    Exceptions: rejected drafts beyond the committed length; a slot that was taken again when its request had ended; a
    prefix that the tree's slots replace, token for token; a slot of which the recording never showed the content is
    unknown. The kernel reads all pairs before it writes any: a mover that copies in a bad order is MOV-HAZARD's to find.
    """
    return verdict(replay.failed, lambda i: _explain(replay, i), replay.unknown)


def _explain(replay: ShadowReplay, i: int) -> Details:
    wrong = replay.wrong(i)
    first = wrong[0]
    more = f", and {len(wrong) - 1} more of its positions are wrong" if wrong[1:] else ""
    return Details(
        message=f"position {first.position} (slot {first.slot}) holds {_content(replay, first)}, not "
        f"{_due(replay, first)}{more}",
        expected=f"{_due(replay, first)} in slot {first.slot}",
        actual=f"{_content(replay, first)} ({KERNEL})",
        slots=tuple(dict.fromkeys(slot for held in wrong[:SHOWN] for slot in _slots(replay, held))),
        evidence=(_table(replay, wrong),),
    )


def _due(replay: ShadowReplay, held: Held) -> str:
    token = "its token" if held.token == NULL else f"token {held.token}"
    if held.due < 0:
        return f"{token} of this position, as when the row took the slot"
    event = int(replay.writes.owners[held.due])
    return f"{token}, written at {_when(replay, event)} to slot {int(replay.writes.slots.values[held.due])}"


def _content(replay: ShadowReplay, held: Held) -> str:
    if held.found < 0:
        return "nothing that was written"
    event = int(replay.writes.owners[held.found])
    token, position = (
        number(int(each[held.found])) for each in (replay.writes.tokens, replay.writes.positions)
    )
    place = replay.writes.place(event)
    whose = "padding" if place.request is None else f"request {place.request}"
    what = "an unknown token" if token is None else f"token {token}"
    where = "an unknown position" if position is None else f"position {position}"
    return f"{what} of {where} of {whose}, written at {_when(replay, event)}{_moved(replay, held)}"


def _when(replay: ShadowReplay, event: int) -> str:
    step, seq = int(replay.writes.step[event]), int(replay.writes.seq[event])
    return f"event {seq}" if step == NULL else f"step {step} (event {seq})"


def _moved(replay: ShadowReplay, held: Held) -> str:
    call = -1 if held.arrived < 0 else int(replay.units.touches.call[held.arrived])
    if call < 0:
        return ""
    source = int(replay.units.slots[replay.units.touches.source[held.arrived]])
    return f", moved here from slot {source} by event {int(replay.moves.seq[call])}"


def _slots(replay: ShadowReplay, held: Held) -> tuple[int, ...]:
    """The slot looked at, and the one where the row due was written."""
    return (held.slot,) if held.due < 0 else (held.slot, int(replay.writes.slots.values[held.due]))


def _table(replay: ShadowReplay, wrong: list[Held]) -> Evidence:
    rows: list[tuple[Cell, ...]] = []
    for held in wrong[:SHOWN]:
        rows.append((held.position, held.slot, _due(replay, held), _content(replay, held)))
    return Evidence(
        title=f"committed prefix, as {KERNEL} leaves it",
        columns=("position", "slot", "due", "held"),
        rows=tuple(rows),
        marked=tuple(range(len(rows))),
    )
