"""MOV: accepted rows are brought to the front of their block, in KV and in the tensors beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from speckv_debug.checks.accept import NO_PATH
from speckv_debug.checks.compact_evidence import explain_cut, explain_predicted
from speckv_debug.checks.evidence import number, row_name, value_at
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import kept, united_verdict, unjudged, verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.replay.compactions import Compactions
from speckv_debug.replay.launches import MoveLaunches
from speckv_debug.replay.pairs import PairMatch
from speckv_debug.replay.ragged import NULL, any_per_list, mask
from speckv_debug.replay.readers import END
from speckv_debug.replay.settlements import Settlements
from speckv_debug.replay.stray_calls import StrayCalls
from speckv_debug.replay.united import United

MOVER = "move_accept_tokens_to_target_kvcache → KVCache.move_kv_cache(tgt_loc, src_loc)"
NOBODYS = " (slots of no request of the batch)"
NO_ACCEPT = "no accept of the call's step"
UNCLAIMED = (
    "the accepts of the batch were not recorded whole: whose the other pairs of the call are is not known"
)
ACCEPTS = ("ACC-COUNT", "ACC-BLOCK", "ACC-CHAIN")


@rule(
    "MOV-PAIR",
    severity=ERROR,
    needs=("accept", "move"),
    scope="moved_pairs",
    look_at=MOVER,
    follows=(*ACCEPTS, "LOC-ROW"),
)
def moved_pairs(moved: United) -> Judgement:
    """KV[tgt] <- KV[src] with src = out_cache_loc[accept_index[k]] and tgt = req_to_token[row, seq_len + k], k < n.

    Exceptions: the list ends in (0, 0) padding; a row that is in place may be moved onto itself or left out; SGLang
    0.5.23 takes targets from the front of the verify window, 0.5.12 to 0.5.22 from the request row: either will do;
    calls that copy a prefix's tail into draft branches, and calls of other pools, are not judged here; nor is a row whose
    position or own slot is the dummy: it lies beyond what was allocated. A call of a step without any accept is unknown,
    unless it moves nothing.
    """
    match, stray = moved.parts
    return united_verdict(moved, (_judge_pairs(match), _judge_stray(stray)))


def _judge_stray(calls: StrayCalls) -> Judgement:
    return unjudged({NO_ACCEPT: ~calls.idle}, len(calls))


def _judge_pairs(match: PairMatch) -> Judgement:
    if match.plain:
        return kept(len(match))
    batch, verify = match.relocations.verifies, match.relocations.verify
    bare = ~batch.ragged("out_cache_loc").present[verify]
    headless = match.relocations.headless
    placeless = match.placeless & ~match.in_order
    known = batch.path_known[verify] & ~bare & ~headless & ~placeless
    suspects = np.flatnonzero(known & ~match.in_order)
    failed, unclaimed = np.zeros((2, len(match)), dtype=np.bool_)
    failed[[index for index in suspects.tolist() if match.problems(index)]] = True
    unclaimed[[index for index in suspects.tolist() if match.unclaimed(index)]] = True
    reasons = {
        NO_PATH: ~batch.path_known[verify],
        "no out_cache_loc": bare,
        "the batch begins with requests that are not in the recording": headless,
        "an accepted row has no slot of its own (the dummy slot, or an unknown entry)": placeless,
        UNCLAIMED: unclaimed,
    }
    return verdict(failed, lambda i: _explain_pair(match, i), reasons)


def _explain_pair(match: PairMatch, i: int) -> Details:
    problems, due = match.problems(i), [p for p in match.due_of(i) if p[0] != p[1]]
    mine = match.mine(i)
    swapped = bool(mine) and all((t, s) in due for s, t in mine)
    short = not swapped and all(pair in due for pair in mine)
    what = (
        "the move runs backwards"
        if swapped
        else "the move is short of a row"
        if short
        else "the move takes wrong slots"
    )
    wrong = [pair for pair in due if pair not in mine] + [pair for pair in mine if pair not in due]
    table, marked = _path_table(match, i)
    loose = match.loose(i)
    source = match.relocations.moves.columns.text_at("target_source", int(match.relocations.call[i]))
    return Details(
        message=f"{what}: {_held(match, i) or '; '.join(problems[:4])}" + (NOBODYS if loose else ""),
        expected=_pairs_text(due) + (f" (targets from the {source})" if source else ""),
        actual=_pairs_text(mine) or "nothing of this request",
        slots=tuple(dict.fromkeys(slot for pair in wrong for slot in pair)),
        evidence=(
            Evidence(
                title="from accept_index to the slot",
                columns=("k", "token", "verify row", "position", "source", "target", "engine moved", ""),
                rows=table,
                marked=marked,
            ),
        ),
        place=replace(match.place(i), request=None, row=None, epoch=None) if loose else None,
    )


def _held(match: PairMatch, i: int) -> str:
    """What the first position that does not hold its accepted row holds instead; empty if none is known."""
    verify, batch = int(match.relocations.verify[i]), match.relocations.verifies
    start, tokens = number(batch.seq_len[verify]), batch.ragged("draft_tokens")[verify].tolist()
    for k, ((_, target), due) in enumerate(zip(match.due_of(i), batch.path[verify].tolist(), strict=True)):
        row = match.content_of(i, target)
        if row != due:
            where = f"place {k}" if start is None else f"position {start + k}"
            what, instead = (row_name(r, tokens[r] if r < len(tokens) else None) for r in (due, row or 0))
            return f"{where} holds {'KV of other rows' if row is None else instead} from now on, not {what}"
    return ""


def _pairs_text(pairs: list[tuple[int, int]]) -> str:
    return ", ".join(f"{t} <- {s}" for s, t in pairs)


def _path_table(match: PairMatch, i: int) -> tuple[tuple[tuple[Cell, ...], ...], tuple[int, ...]]:
    verify, batch = int(match.relocations.verify[i]), match.relocations.verifies
    start, mine = number(batch.seq_len[verify]), match.mine(i)
    rows: list[tuple[Cell, ...]] = []
    marked = []
    for k, ((source, target), row) in enumerate(
        zip(match.due_of(i), batch.path[verify].tolist(), strict=True)
    ):
        engine = match.relocations.engine_pair(i, k, source, target)
        moved = "nothing" if engine is None else f"{engine[1]} <- {engine[0]}"
        stray = engine is not None and engine[0] != engine[1] and engine != (source, target)
        bad = stray or (source != target and (source, target) not in mine)
        note = f"✗ due {target} <- {source}" if bad else "same slot" if source == target else ""
        name = row_name(row, value_at(batch, "draft_tokens", verify, row))
        rows.append((k, name, row, None if start is None else start + k, source, target, moved, note))
        marked += [k] if bad else []
    return tuple(rows), tuple(marked)


@rule(
    "MOV-HAZARD",
    severity=ERROR,
    needs=("move",),
    scope="launches",
    look_at="KVCache.move_kv_cache (copy_all_layer_kv_cache_tiled)",
    follows=("MOV-PAIR", "LOC-UNIQ", *ACCEPTS),
)
def move_order(launches: MoveLaunches) -> Judgement:
    """A moved row arrives as it was before the call: no pair reads a slot that an earlier pair has overwritten.

    Calls for the accepts of one step that move the same components of a pool count as one.

    Exceptions: a target that an earlier pair has already read is normal; a pair of one slot with itself overwrites
    nothing; (0, 0) is padding; fingerprints may show that the mover gathered all sources first.
    """
    moves = launches.moves
    late = launches.late_reads
    failed = any_per_list(late, moves.src.owners, len(moves)) if late.any() else mask(np.zeros(len(moves)))
    bare = ~moves.src.present | ~moves.tgt.present
    return verdict(failed, lambda i: _explain_hazard(launches, i), {"no src or tgt": bare})


def _explain_hazard(launches: MoveLaunches, i: int) -> Details:
    pairs = list(zip(launches.moves.src[i].tolist(), launches.moves.tgt[i].tolist(), strict=False))
    slot = launches.first_slot(i)
    if (call := launches.overwriter(i, slot)) != i:
        return _explain_second(launches, i, slot, call)
    first = next(k for k, (s, t) in enumerate(pairs) if t == slot and s != t)
    then = next(k for k, (s, _) in enumerate(pairs) if s == slot and k > first)
    rows = tuple(
        (k, f"{pairs[k][1]} <- {pairs[k][0]}", why) for k, why in ((first, "writes"), (then, "reads after"))
    )
    return Details(
        message=f"slot {slot} is overwritten by pair {first} before pair {then} reads it",
        expected=f"pair {then} ({pairs[then][1]} <- {pairs[then][0]}) before pair {first}, or all sources gathered first",
        actual=f"pair {first} ({pairs[first][1]} <- {pairs[first][0]}) comes first",
        slots=(slot, pairs[then][1]),
        evidence=(Evidence(title=f"slot {slot}", columns=("pair", "move", ""), rows=rows, marked=(1,)),),
    )


def _explain_second(launches: MoveLaunches, i: int, slot: int, call: int) -> Details:
    """The call reads what an earlier call of its step has overwritten."""
    rows = []
    for which, why in ((call, "writes"), (i, "reads after")):
        pairs = [(s, t) for s, t in launches.moves.pairs(which) if slot in (s, t)]
        rows.append((launches.moves.place(which).seq, _pairs_text(pairs), why))
    return Details(
        message=f"slot {slot} is read by a second move of the step, after event {rows[0][0]} has overwritten it",
        expected="accepted rows are moved once",
        actual=f"{rows[0][1]}, then {rows[1][1]}",
        slots=(slot,),
        evidence=(
            Evidence(title=f"slot {slot}", columns=("seq", "move", ""), rows=tuple(rows), marked=(1,)),
        ),
    )


@rule(
    "MOV-MISSING",
    severity=ERROR,
    needs=("accept", "move"),
    scope="settlements",
    look_at="_finalize_accept_tree_path → " + MOVER,
    follows=("MOV-PAIR", "MOV-MISSING", *ACCEPTS),
)
def move_before_read(scope: Settlements) -> Judgement:
    """Accepted rows that are not in place are moved, and their predictions compacted, before positions [L, L + n) are read.

    Predictions are read by the drafter, too, which stores them behind the verify.

    Exceptions: a path that is a prefix needs no move; the engine may fold the move into its next step, or change the
    request row instead of moving data; without a reader in the recording nothing is known.
    """
    batch = scope.verifies
    lacking = np.zeros(len(scope), dtype=np.bool_)
    open_end = np.zeros(len(scope), dtype=np.bool_)
    for index, found in scope.unsettled.items():
        lacking[index], open_end[index] = found.reader != END, found.reader == END
    listed = batch.info.records("move", "accept")
    certain = lacking & (listed | _only_uncompacted(scope))
    tree = ~batch.of("layout", "chain") & ~batch.padding
    reasons = {
        NO_PATH: ~batch.path_known & ~batch.padding,
        "no out_cache_loc": ~batch.ragged("out_cache_loc").present & tree,
        "move was not recorded whole": lacking & ~certain,
        "nobody reads the rows before the recording ends": open_end,
    }
    return verdict(certain, lambda i: _explain_missing(scope, i), reasons)


def _only_uncompacted(scope: Settlements) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    found = np.zeros(len(scope), dtype=np.bool_)
    found[[index for index, lacking in scope.unsettled.items() if not lacking.unmoved]] = True
    return found


def _explain_missing(scope: Settlements, i: int) -> Details:
    batch, lacking = scope.verifies, scope.unsettled[i]
    path, start = batch.path[i].tolist(), number(batch.seq_len[i])
    rows: list[tuple[Cell, ...]] = []
    for k, source, target in lacking.unmoved:
        name = row_name(path[k], value_at(batch, "draft_tokens", i, path[k]))
        rows.append((k, name, path[k], None if start is None else start + k, source, target, "nothing"))
    what = [f"{len(rows)} accepted row{'s were' if rows[1:] else ' was'} never moved"] if rows else []
    what += [f"{tensor} was not compacted" for tensor in lacking.uncompacted]
    them = "it" if len(rows) + len(lacking.uncompacted) == 1 else "them"
    columns = ("k", "token", "verify row", "position", "source", "target", "engine moved")
    moves = _pairs_text([(source, target) for _, source, target in lacking.unmoved])
    return Details(
        message=f"accepted path {path} is not a prefix, but {' and '.join(what)} before event {lacking.reader} reads {them}",
        expected=", ".join(filter(None, (moves, *(f"compaction of {t}" for t in lacking.uncompacted)))),
        actual="no such move" if rows else "no such compaction",
        slots=tuple(dict.fromkeys(slot for _, *pair in lacking.unmoved for slot in pair)) or None,
        evidence=(Evidence(title="rows left where they were", columns=columns, rows=tuple(rows)),),
    )


@rule(
    "MOV-COMPACT",
    severity=ERROR,
    needs=("accept", "compact"),
    scope="compactions",
    look_at="_finalize_accept_tree_path → _compact_accept_to_front",
    follows=ACCEPTS,
)
def compacted_rows(scope: Compactions) -> Judgement:
    """After compaction the k-th accepted row stands at place k of its block, in predictions and hidden rows alike.

    `after[o + k] = before[accept_index[k]]` for k < n. The predictions before it are those of the verify, and both lists hold
    the whole batch.

    Exceptions: what stands behind n is not read and holds anything; NGRAM gathers into blocks as wide as accept_index;
    a chain is compact already; hidden states may be absent.
    """
    if scope.plain:
        return kept(len(scope))
    batch, verify = scope.verifies, scope.verify
    owners, due, found = scope.due_and_found()
    unread = any_per_list((due == NULL) | (found == NULL), owners, len(scope))
    predicted = scope.predicted()
    wrong = (due != found) & (due != NULL) & (found != NULL)
    wrong |= (due != predicted) & (due != NULL) & (predicted != NULL)
    failed = any_per_list(wrong, owners, len(scope)) | scope.cut
    failed &= ~batch.padding[verify]
    reasons = {
        NO_PATH: ~batch.path_known[verify] & ~batch.padding[verify],
        "no block_start": (batch.block_start[verify] == NULL) & ~batch.padding[verify],
        "before or after is absent or too short": unread & ~batch.padding[verify],
    }
    return verdict(failed, lambda i: _explain_compact(scope, i), reasons)


def _explain_compact(scope: Compactions, i: int) -> Details:
    owners, due, found = scope.due_and_found()
    mine = owners == i
    if scope.cut[i]:
        return explain_cut(scope, i)
    if (due[mine] == found[mine]).all():
        return explain_predicted(scope, i, scope.predicted()[mine].tolist(), due[mine].tolist())
    due_rows, found_rows = due[mine].tolist(), found[mine].tolist()
    path = scope.verifies.path[int(scope.verify[i])].tolist()
    block = int(scope.verifies.block_start[scope.verify[i]])
    before = scope.before[int(scope.event[i])].tolist()
    wrong = [k for k, (want, have) in enumerate(zip(due_rows, found_rows, strict=True)) if want != have]
    rows: list[tuple[Cell, ...]] = []
    for k, (row, want, have) in enumerate(zip(path, due_rows, found_rows, strict=True)):
        came_from = next((at for at, value in enumerate(before[block:]) if value == have), None)
        rows.append((k, row, want, have, came_from, "✗" if k in wrong else ""))
    tensor = scope.kind(i)
    order = (
        "left in tree order"
        if found_rows == before[block : block + len(path)]
        else "compacted by another order"
    )
    return Details(
        message=f"{tensor} was {order}: place {wrong[0]} of the block does not hold accepted row {path[wrong[0]]}",
        expected=f"{due_rows}",
        actual=f"{found_rows}",
        evidence=(
            Evidence(
                title=f"{tensor}, block at flat row {block}",
                columns=("k", "verify row due", "value due", "value found", "found row", ""),
                rows=tuple(rows),
                marked=tuple(wrong),
            ),
        ),
    )
