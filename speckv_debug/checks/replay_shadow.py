"""RPL-SHADOW: a shadow cache that is written and moved as the engine's was holds each request's own tokens in order."""

from __future__ import annotations

from speckv_debug.checks.evidence import number
from speckv_debug.checks.move import ACCEPTS, MOVER
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import plural
from speckv_debug.replay.ragged import NULL
from speckv_debug.replay.shadow_finds import Held
from speckv_debug.replay.shadow_replay import ShadowReplay

KERNEL = "kernels.move.move_slots"
LAWS = ("LOC-ROW", "LOC-UNIQ", "LOC-RANGE", "LOC-PAD", "LOC-WIDTH", "LOC-GROUP", "MOV-PAIR", "MOV-MISSING")
LENGTHS = ("LEN-SEQ", "LEN-ALLOC", "LEN-COMMIT", "LEN-ORDER", "LEN-REACH")
REPLAYED = ("RPL-ACCEPT", "RPL-LOC", "RPL-MOVE", "RPL-COMPACT")
HOLDERS = ("OWN-ALIAS", "OWN-UAF", "OWN-DFREE", "OWN-PAGESAFE", "OWN-ORPHAN", "LOC-OWNED")
SHOWN = 16
"""Positions that the evidence lists; the message counts all."""


@rule(
    "RPL-SHADOW",
    severity=ERROR,
    needs=(),
    scope="shadow",
    look_at="set_kv_buffer at out_cache_loc where a row was written wrong; where it was moved wrong, "
    + MOVER,
    follows=(*ACCEPTS, *LAWS, *LENGTHS, *HOLDERS, *REPLAYED),
)
def committed_prefix(replay: ShadowReplay) -> Judgement:
    """Replayed by kernels.move.move_slots, each position of a committed prefix holds the row that was written for it.

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
    more = (
        f", and {len(wrong) - 1} more of its positions {plural(len(wrong) - 1, 'is', 'are')} wrong"
        if wrong[1:]
        else ""
    )
    found, due = (
        f"{_content(replay, first)}{_written(replay, first.found)}",
        f"{_token(first)}{_due(replay, first)}",
    )
    alike = first.found >= 0 and _row(replay, first.found)[0] == number(first.token)
    short = (found, due) if alike else (_content(replay, first), _token(first))
    return Details(
        message=f"position {first.position} (slot {first.slot}) holds {short[0]}{_moved(replay, first)}, "
        f"not {short[1]}{more}",
        expected=due,
        actual=found,
        slots=tuple(dict.fromkeys(slot for held in wrong[:SHOWN] for slot in _slots(replay, held))),
        evidence=(_table(replay, wrong),),
    )


def _token(held: Held) -> str:
    return "its own token" if held.token == NULL else f"token {held.token}"


def _due(replay: ShadowReplay, held: Held) -> str:
    if held.due < 0:
        return " of this position, as when the row took the slot"
    return _written(replay, held.due)


def _content(replay: ShadowReplay, held: Held) -> str:
    if held.found < 0:
        return "nothing that was written"
    token, position = _row(replay, held.found)
    what = "an unknown token" if token is None else f"token {token}"
    where = "an unknown position" if position is None else f"position {position}"
    return f"{what} of {where} of {_whose(replay, held.found)}"


def _row(replay: ShadowReplay, element: int) -> tuple[int | None, int | None]:
    """Token and position of a written row."""
    return number(int(replay.writes.tokens[element])), number(int(replay.writes.positions[element]))


def _whose(replay: ShadowReplay, element: int) -> str:
    request = replay.writes.place(int(replay.writes.owners[element])).request
    return "padding" if request is None else f"request {request}"


def _written(replay: ShadowReplay, element: int) -> str:
    """Such as `, written to slot 69 at step 6 (event 126)`."""
    if element < 0:
        return ""
    event, slot = int(replay.writes.owners[element]), int(replay.writes.slots.values[element])
    step, seq = int(replay.writes.step[event]), int(replay.writes.seq[event])
    when = f"event {seq}" if step == NULL else f"step {step} (event {seq})"
    return f", written to slot {slot} at {when}"


def _moved(replay: ShadowReplay, held: Held) -> str:
    source, seq = _arrival(replay, held)
    return "" if seq is None else f", moved here from slot {source} by event {seq}"


def _arrival(replay: ShadowReplay, held: Held) -> tuple[int | None, int | None]:
    """The slot that the content came from and the event of the mover's call; None if it was not moved."""
    call = -1 if held.arrived < 0 else int(replay.units.touches.call[held.arrived])
    if call < 0:
        return None, None
    source = int(replay.units.slots[replay.units.touches.source[held.arrived]])
    return source, int(replay.moves.seq[call])


def _slots(replay: ShadowReplay, held: Held) -> tuple[int, ...]:
    """The slot looked at, and the one where the row due was written."""
    return (held.slot,) if held.due < 0 else (held.slot, int(replay.writes.slots.values[held.due]))


def _table(replay: ShadowReplay, wrong: list[Held]) -> Evidence:
    rows = tuple(_line(replay, held) for held in wrong[:SHOWN])
    return Evidence(
        title=f"committed prefix, as {KERNEL} leaves it",
        columns=(
            "position",
            "slot",
            "token due",
            "written to",
            "token held",
            "of position",
            "of",
            "moved from",
        ),
        rows=rows,
        marked=tuple(range(len(rows))),
    )


def _line(replay: ShadowReplay, held: Held) -> tuple[Cell, ...]:
    due = None if held.due < 0 else int(replay.writes.slots.values[held.due])
    if held.found < 0:
        found: tuple[Cell, ...] = (None, None, "nothing")
    else:
        found = (*_row(replay, held.found), _whose(replay, held.found))
    return (held.position, held.slot, number(held.token), due, *found, _arrival(replay, held)[0])
