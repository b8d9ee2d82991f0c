"""OWN-PUBLISH: what the prefix tree makes matchable."""

from __future__ import annotations

from speckv_debug.checks.evidence import named
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.model.finding import Evidence
from speckv_debug.replay.ledger_facts import Broken
from speckv_debug.replay.page_history import page_history, ranges
from speckv_debug.replay.publications import Publications

SHOWN = 8
"""Positions that a finding lists."""


@rule(
    "OWN-PUBLISH",
    severity=ERROR,
    needs=("cache:insert", "lengths", "table_write"),
    scope="publications",
    look_at="RadixCache.cache_finished_req, cache_unfinished_req, insert",
    follows=("LEN-COMMIT", "LEN-ORDER", "OWN-ALIAS", "OWN-ROW", "OWN-PUBLISH"),
)
def published_when_committed(inserts: Publications) -> Judgement:
    """The prefix tree takes only positions that are committed, in the slots that the request's row names there.

    They end where the key ends. And nobody who is served a node runs at a step before its slots are written.

    Exceptions: a node that is published before the forward that writes it, where the write comes at the step of its first
    reader or earlier; keys of pairs, which end one entry earlier; tokens behind max_new_tokens, which are published on
    purpose; nodes that come back from the host. The tokens of a key are not in the recording.
    """
    return Judgement(failed=inserts.failed, unknown=inserts.unknown, explain=lambda i: _explain(inserts, i))


def _explain(inserts: Publications, i: int) -> Details:
    broken, place, (_, row) = inserts.broken(i), inserts.place(i), inserts.event(i)
    first, last = broken.positions or (0, 0)
    rows, slots = inserts.ledger.events.slots["cache"], _published(inserts, row, broken)
    start, key_len = rows.ints("start")[row], rows.ints("key_len")[row]
    end = start + rows.count(row)
    of = named(place.request)
    positions = f"positions [{first}, {last + 1})" if last > first else f"position {first}"
    message, expected = {
        "uncommitted": (
            f"{positions} of {of} {'become' if last > first else 'becomes'} matchable without being committed",
            f"the node ends at position {first}",
        ),
        "elsewhere": (
            f"the tree takes slots {ranges(slots)} for {positions} of {of}, whose row names {ranges(broken.slots)}",
            "the slots that the row names",
        ),
        "key": (
            f"the tree takes positions [{start}, {end}) of {of}, but the key of the node ends elsewhere",
            f"the node ends where the key ends, at position {key_len}",
        ),
        "unwritten": (
            f"slot {ranges(slots, 1)} ({positions} of {of}) was served and read at a step before anyone wrote to it",
            "the write comes at the step of the first reader, or earlier",
        ),
    }[broken.way]
    history = (page_history(inserts.ledger, place.pool, page, place.seq) for page in broken.pages[:1])
    return Details(
        message=message,
        expected=expected,
        actual=f"positions [{start}, {end}) are put into the tree",
        slots=slots,
        pages=broken.pages,
        evidence=(_side_by_side(broken, slots), *history),
    )


def _published(inserts: Publications, row: int, broken: Broken) -> tuple[int, ...]:
    """The slots of the event at the positions concerned."""
    rows, (first, last) = inserts.ledger.events.slots["cache"], broken.positions or (0, 0)
    start = rows.ints("start")[row]
    return tuple(rows.slots(row)[first - start : last + 1 - start].tolist())


def _side_by_side(broken: Broken, slots: tuple[int, ...]) -> Evidence:
    """Position, slot in the tree, slot in the row."""
    first = broken.positions[0] if broken.positions else 0
    named = (
        broken.slots
        if broken.way == "elsewhere" and len(broken.slots) == len(slots)
        else (None,) * len(slots)
    )
    rows = tuple((first + at, slot, own) for at, (slot, own) in enumerate(zip(slots, named, strict=True)))
    left_out = f", the first {SHOWN} of {len(rows)}" if len(rows) > SHOWN else ""
    columns = ("position", "slot in the tree", "slot in the row")
    return Evidence(title=f"what is published{left_out}", columns=columns, rows=rows[:SHOWN])
