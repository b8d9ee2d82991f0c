"""RPL: the slots that a verify writes, moves and compacts, by the kernels out of rows and paths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from speckv_debug.checks.accept import NO_PATH
from speckv_debug.checks.evidence import number, row_name, value_at
from speckv_debug.checks.location import LOCATE
from speckv_debug.checks.move import ACCEPTS, MOVER, NOBODYS, UNCLAIMED
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.replay.ragged import NULL, any_per_list
from speckv_debug.replay.replayed_compactions import ReplayedCompactions
from speckv_debug.replay.replayed_moves import ReplayedMoves
from speckv_debug.replay.replayed_slots import ReplayedSlots

ROW_SLOTS = "kernels.locate.row_slots"
ACCEPTED_PAIRS = "kernels.locate.accepted_pairs"
COMPACT = "kernels.compact.compact_accepted"
Pair = tuple[int, int]
"""Source and target slot."""


@rule(
    "RPL-LOC",
    severity=ERROR,
    needs=("accept",),
    scope="replayed_slots",
    look_at=LOCATE,
    follows=("LOC-ROW", "LOC-UNIQ", "LOC-RANGE", "LOC-WIDTH"),
)
def replayed_slots(scope: ReplayedSlots) -> Judgement:
    """A verify writes to the slots that kernels.locate.row_slots reads in its request row.

    The row is rebuilt from the writes into it, up to the last one before the accept; where no write of this row and epoch
    is known, it is taken as it stood when the slots were built (`table_slots`).

    Exceptions: a write that prepares a later step may stand before the accept; what an earlier epoch left in the row is
    stale; where writes and snapshot disagree, either may have been read; rows that pad the batch.
    """
    owners, batch = scope.recomputed.owners, scope.verifies
    failed = any_per_list(scope.wrong, owners, len(scope)) & ~batch.padding
    reasons = {
        "no out_cache_loc": ~batch.ragged("out_cache_loc").present,
        "neither a write into the row nor its snapshot is known": scope.rowless,
        "the row changed around the time when it was read": scope.torn,
        "out_cache_loc is shorter than the verify": any_per_list(scope.used == NULL, owners, len(scope)),
    }
    return verdict(
        failed, lambda i: _explain_slots(scope, i), {w: m & ~batch.padding for w, m in reasons.items()}
    )


def _explain_slots(scope: ReplayedSlots, i: int) -> Details:
    mine = slice(*np.searchsorted(scope.recomputed.owners, (i, i + 1)).tolist())
    images, due = scope.recomputed.images, scope.recomputed.slots[i].tolist()
    used, wrong = scope.used[mine].tolist(), np.flatnonzero(scope.wrong[mine]).tolist()
    start = number(scope.verifies.seq_len[i]) or 0
    columns = tuple(c[mine] for c in (images.written, images.snapshot, scope.recomputed.windows.written))
    rows: list[tuple[Cell, ...]] = [
        (j, start + j, *(number(c[j]) for c in columns), number(used[j]), "✗" if j in wrong else "")
        for j in range(len(used))
    ]
    at = wrong[0]
    return Details(
        message=f"position {start + at} was written to slot {used[at]}, {ROW_SLOTS} reads {due[at]} in its row",
        expected=f"slots {due}",
        actual=f"slots {used}",
        slots=tuple(dict.fromkeys(slot for j in wrong for slot in (used[j], due[j]))),
        evidence=(
            Evidence(
                title=f"request row, by {ROW_SLOTS}",
                columns=(
                    "row",
                    "position",
                    "slot by writes",
                    "slot in snapshot",
                    "written at seq",
                    "slot used",
                    "",
                ),
                rows=tuple(rows),
                marked=tuple(wrong),
            ),
        ),
    )


@rule(
    "RPL-MOVE",
    severity=ERROR,
    needs=("accept", "move"),
    scope="replayed_moves",
    look_at=MOVER,
    follows=("RPL-ACCEPT", *ACCEPTS, "LOC-ROW", "MOV-PAIR", "MOV-HAZARD", "MOV-MISSING", "RPL-LOC"),
)
def replayed_moves(scope: ReplayedMoves) -> Judgement:
    """The mover's calls of a step bring each accepted row from the slot it was verified in to the one it belongs in.

    Sources and targets are those of kernels.locate.accepted_pairs (the front of the verify window), or, as SGLang 0.5.12
    to 0.5.22 have it, targets are those of the request row. Two lists are the same if they leave the same in each slot.

    Exceptions: pairs in place may be there or not, in any order; padding and the pool's dummy hold nothing; calls that
    copy a prefix's tail into draft branches are not judged; a call that never came is one only where someone reads
    the rows; nor is a row judged whose position or own slot is the dummy.
    """
    batch, due = scope.verifies, scope.due
    missing = any_per_list(scope.missing, due.owners, len(scope))
    found = missing | scope.stray | scope.uncalled
    pathless = ~due.path.present & ~batch.padding
    hidden = pathless | scope.headless | (due.placeless & ~batch.padding)
    reasons = {
        NO_PATH: pathless,
        "the batch begins with requests that are not in the recording": scope.headless,
        "an accepted row has no slot of its own (the dummy slot, or an unknown entry)": due.placeless
        & ~batch.padding,
        "a slot is the target of two pairs: which one stays is not defined": scope.torn,
        UNCLAIMED: scope.unclaimed,
        "no call moves the rows, and nobody is seen to read them": scope.open_end,
    }
    return verdict(found & ~hidden & ~batch.padding, lambda i: _explain_move(scope, i), reasons)


def _explain_move(scope: ReplayedMoves, i: int) -> Details:
    due, lacking = _due_pairs(scope, i)
    strays, loose = scope.strays_of(i), scope.loose(i)
    rows = _move_rows(scope, i, due, lacking, strays)
    missing = [due[k] for k in lacking]
    moving = {k: pair for k, pair in enumerate(due) if pair[0] != pair[1]}
    kept = [pair for k, pair in moving.items() if k not in lacking]
    said = [*(f"{_pair(p)} is missing" for p in missing), *(f"{_pair(p)} is not due" for p in strays)]
    columns = ("k", "token", "verify row", "position", "source", "target", "engine moved", "")
    return Details(
        message=f"the engine's move is not that of {ACCEPTED_PAIRS}: {'; '.join(said[:4])}"
        + (NOBODYS if loose else ""),
        expected=", ".join(map(_pair, moving.values())) or "no move",
        actual=", ".join(map(_pair, (*kept, *strays))) or "no move",
        slots=tuple(dict.fromkeys(slot for pair in (*missing, *strays) for slot in pair)),
        evidence=(
            Evidence(
                title=f"pairs by {ACCEPTED_PAIRS}",
                columns=columns,
                rows=rows,
                marked=tuple(k for k, row in enumerate(rows) if "✗" in str(row[-1])),
            ),
        ),
        place=replace(scope.place(i), request=None, row=None, epoch=None) if loose else None,
    )


def _due_pairs(scope: ReplayedMoves, i: int) -> tuple[list[Pair], list[int]]:
    """(source, target) of each accepted row of a verify, and the places that were not moved."""
    due, path = scope.due, scope.due.path
    at = slice(int(path.offsets[i]), int(path.offsets[i + 1]))
    targets = (due.row if scope.by_row[i] else due.window)[at].tolist()
    missing = scope.missing[at] | (scope.uncalled[i] & (due.source[at] != targets))
    return list(zip(due.source[at].tolist(), targets, strict=True)), np.flatnonzero(missing).tolist()


def _move_rows(
    scope: ReplayedMoves, i: int, due: list[Pair], lacking: list[int], strays: list[Pair]
) -> tuple[tuple[Cell, ...], ...]:
    """Each accepted row beside the pair that the engine moved for it, then the pairs that are for none."""
    batch, start = scope.verifies, number(scope.verifies.seq_len[i])
    rows: list[tuple[Cell, ...]] = []
    for k, (row, pair) in enumerate(zip(scope.due.path[i].tolist(), due, strict=True)):
        moved, note = ("", "same slot") if pair[0] == pair[1] else (_pair(pair), "")
        if k in lacking:
            other = _instead(pair, strays)
            strays = [stray for stray in strays if stray != other]
            moved, note = "nothing" if other is None else _pair(other), f"✗ due {_pair(pair)}"
        name = row_name(row, value_at(batch, "draft_tokens", i, row))
        rows.append((k, name, row, None if start is None else start + k, *pair, moved, note))
    blank: tuple[Cell, ...] = (None,) * 6
    return (*rows, *((*blank, _pair(stray), "✗ not due") for stray in strays))


def _instead(due: Pair, strays: list[Pair]) -> Pair | None:
    """The pair that the engine moved in the place of a due one: to its target, from its source, or backwards."""
    source, target = due
    by_target = (stray for stray in strays if stray[1] == target)
    by_source = (stray for stray in strays if stray[0] == source or stray == (target, source))
    return next(by_target, next(by_source, None))


def _pair(pair: Pair) -> str:
    return f"{pair[1]} <- {pair[0]}"


@rule(
    "RPL-COMPACT",
    severity=ERROR,
    needs=("accept", "compact"),
    scope="replayed_compactions",
    look_at="_finalize_accept_tree_path → _compact_accept_to_front",
    follows=("RPL-ACCEPT", *ACCEPTS, "MOV-COMPACT"),
)
def replayed_compaction(scope: ReplayedCompactions) -> Judgement:
    """A compaction leaves at the front of each block what kernels.compact.compact_accepted leaves there.

    Exceptions: what stands behind the accepted rows is not read and not compared; NGRAM gathers into blocks as wide as
    accept_index; a chain is compact already; rows that pad the batch.
    """
    padding = scope.verifies.padding[scope.verify]
    failed = any_per_list(scope.wrong, scope.fronts.owners, len(scope)) & ~padding
    reasons = {
        NO_PATH: scope.pathless & ~padding,
        "where the block begins is not known": (scope.block == NULL) & ~padding,
        "before or after is absent or too short": scope.unread & ~padding,
    }
    return verdict(failed, lambda i: _explain_compaction(scope, i), reasons)


def _explain_compaction(scope: ReplayedCompactions, i: int) -> Details:
    mine = slice(*np.searchsorted(scope.fronts.owners, (i, i + 1)).tolist())
    due, found = scope.fronts.values[mine].tolist(), [number(v) for v in scope.found[mine].tolist()]
    path = scope.path[int(scope.verify[i])].tolist()
    wrong = np.flatnonzero(scope.wrong[mine]).tolist()
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (k, row, due[k], found[k], "✗" if k in wrong else "") for k, row in enumerate(path)
    )
    at = wrong[0]
    return Details(
        message=f"{scope.kind(i)}: place {at} of the block holds {found[at]}, {COMPACT} puts {due[at]} there",
        expected=f"{due}",
        actual=f"{found}",
        evidence=(
            Evidence(
                title=f"{scope.kind(i)}, block at flat row {number(scope.block[i])}",
                columns=("k", "verify row", "value due", "value found", ""),
                rows=rows,
                marked=tuple(wrong),
            ),
        ),
    )
