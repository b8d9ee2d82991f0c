"""LEN-READ: a forward attends to its prefix and to its own rows, no position more or less."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import number
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import plural, quantity
from speckv_debug.replay.ragged import NULL, Mask
from speckv_debug.replay.reads import ForwardReads

SHOWN = 16


@rule(
    "LEN-READ",
    severity=ERROR,
    needs=("forward",),
    scope="forward_reads",
    look_at="ForwardBatch.seq_lens at init_forward_metadata (static buffers of a captured graph too)",
    follows=("LEN-SEQ", "LEN-TOKEN", "LEN-READ", "LOC-ROW", "OWN-ROW"),
)
def reads_prefix_and_own_rows(reads: ForwardReads) -> Judgement:
    """A forward may read the positions before its first row, and its own: its read length is first position + rows.

    A verify begins where its accept says, and the first draft of a round of EAGLE at the same position, so that no row of an
    earlier round that was rejected is read. A draft reads up to the prefix's end at least, and never beyond the window that
    is verified.

    Exceptions: a drafter that computes a block reads the whole block; the rows of a draft step, and siblings of a tree,
    share positions; columns of a page table behind the read length hold old ids; UNO verifies from one past the frontier.
    """
    uno = (reads.accept >= 0) & (reads.verifies.non_draft != 1)
    reasons = {
        "the engine's algorithm verifies from one past the frontier": uno & ~_inexact(reads),
        "no positions, start or rows": reads.target & (reads.due == NULL),
        "the width of the verify is not known": ~reads.target & ~reads.in_blocks & (reads.widest == NULL),
        "whether the round's first draft was recorded is not known": _elsewhere(reads) & ~_first_seen(reads),
    }
    elsewhere = _elsewhere(reads) & _first_seen(reads)
    return verdict(
        _inexact(reads) | (~uno & (elsewhere | _off(reads))), lambda i: _explain(reads, i), reasons
    )


def _inexact(reads: ForwardReads) -> Mask:
    """Forwards of the target whose read length is not the end of their own rows."""
    return np.asarray((reads.due != NULL) & (reads.end != reads.due), dtype=np.bool_)


def _elsewhere(reads: ForwardReads) -> Mask:
    """Verifies, and first drafts of a round, that begin at another position than the accept."""
    begins = (reads.target & reads.verifying) | reads.leading
    known = begins & (reads.length != NULL) & (reads.first != NULL)
    return np.asarray(known & (reads.first != reads.length), dtype=np.bool_)


def _first_seen(reads: ForwardReads) -> Mask:
    """Verifies, and drafts of a round whose first draft is in the recording."""
    return np.asarray(reads.target | reads.all_drafted, dtype=np.bool_)


def _off(reads: ForwardReads) -> Mask:
    """Drafts that end before the prefix does, or behind the window."""
    short = ~reads.target & (reads.length != NULL) & (reads.end < reads.length)
    return np.asarray(short | ((reads.widest != NULL) & (reads.end > reads.widest)), dtype=np.bool_)


def _explain(reads: ForwardReads, i: int) -> Details:
    end, first, length = int(reads.end[i]), number(reads.first[i]), number(reads.length[i])
    mode = reads.columns.text_at("mode", int(reads.index[i])) or "forward"
    if not reads.target[i]:
        return _explain_draft(reads, i, mode, end)
    due = number(reads.due[i])
    if due is not None and end != due:
        return Details(
            message=f"the {mode} computes positions [{first}, {due}) and reads [0, {end}): {_apart(end, due)}",
            expected=f"a read length of {due} = {first} + {quantity(number(reads.count[i]), 'row')}",
            actual=f"read length {end}",
            slots=_slots(reads, i, end, due),
            evidence=(_table(reads, i, due),),
        )
    return Details(
        message=f"the {mode} begins at position {first}, its verify at length {length}",
        expected=f"a first position of {length}",
        actual=f"first position {first}, [{min(first or 0, length or 0)}, {max(first or 0, length or 0)}) apart",
        evidence=(_table(reads, i, due),),
    )


def _explain_draft(reads: ForwardReads, i: int, mode: str, end: int) -> Details:
    length, widest = int(reads.length[i]), number(reads.widest[i])
    if not _off(reads)[i]:
        return Details(
            message=f"the first draft of the round is at position {reads.first[i]}, the prefix ends at {length}",
            expected=f"a first position of {length}",
            actual=f"first position {reads.first[i]}",
            evidence=(_table(reads, i, None),),
        )
    due = length if end < length or widest is None else widest
    return Details(
        message=f"the {mode} reads [0, {end}), its verify has the prefix [0, {length}) and the window "
        f"[{length}, {'?' if widest is None else widest}): {_apart(end, due)}",
        expected=f"an end in [{length}, {'…' if widest is None else widest}]",
        actual=f"an end of {end}",
        evidence=(_table(reads, i, due),),
    )


def _apart(end: int, due: int) -> str:
    """Which positions are missing, or are read although nothing of this forward lies there."""
    if end < due:
        return f"{quantity(due - end, 'position')} [{end}, {due}) {plural(due - end, 'is', 'are')} missing"
    return f"{quantity(end - due, 'position')} [{due}, {end}) {plural(end - due, 'is', 'are')} of rejected rows or never written"


def _slots(reads: ForwardReads, i: int, end: int, due: int) -> tuple[int, ...] | None:
    """Slots of the forward's own rows that it does not read."""
    written = reads.columns.lists("slots")[int(reads.index[i])]
    missing = written[max(0, len(written) - max(0, due - end)) :] if end < due else written[:0]
    return tuple(missing[:SHOWN].tolist()) or None


def _table(reads: ForwardReads, i: int, due: int | None) -> Evidence:
    """The numbers that go into the length that is read."""
    rows: tuple[tuple[Cell, ...], ...] = (
        ("first position", number(reads.first[i])),
        ("rows", number(reads.count[i])),
        ("length L of the verify", number(reads.length[i])),
        ("read length due", due),
        ("read length", number(reads.end[i])),
    )
    return Evidence(title="what the forward reads", columns=("", "positions"), rows=rows, marked=(4,))
