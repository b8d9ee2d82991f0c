"""RPL: what the kernels accept of the recorded inputs is what the engine accepted, handed on and counted."""

from __future__ import annotations

from collections.abc import Mapping

from speckv_debug.checks.accept import ACCEPT, UNCOUNTED
from speckv_debug.checks.evidence import accept_entries, draft_tree, number, row_name, strips, value_at
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import quantity
from speckv_debug.replay.ragged import NULL, Mask, mask
from speckv_debug.replay.replayed_accepts import PARTED, TIED, Difference, ReplayedAccepts

BONUS = "kernels.locate.bonus_tokens"
LENGTHS = "kernels.locate.new_lengths"


@rule(
    "RPL-ACCEPT",
    severity=ERROR,
    needs=("accept",),
    scope="replayed_accepts",
    look_at=ACCEPT,
    follows=("ACC-COUNT", "ACC-BLOCK", "ACC-CHAIN", "ACC-SHIFT"),
)
def replayed_path(accepts: ReplayedAccepts) -> Judgement:
    """The engine accepted the rows that the kernel accepts of the same tree and the same choices of the target.

    Compared are the rows of accept_index, accept_len, num_correct_drafts, and predict on the accepted rows.

    Exceptions: without target_predict the engine's predict is taken for the target's choice, so what is seen is that its
    path is the one that its own predictions lead along, to the end; how many rows a sampled verify accepts can't be
    recomputed: its path is a wrong one if predict does not lead along it, and unknown otherwise; simulated acceptance
    takes rows 0 .. n-1; of siblings with one token any may be taken; a watermark or vocabulary map may rewrite tokens;
    rows that pad the batch and inactive rows of a chain engine are not judged.
    """
    verifies, recomputed = accepts.verifies, accepts.recomputed
    index, failed = verifies.ragged("accept_index"), accepts.path_differs | accepts.tokens_differ
    reasons = _open(accepts, recomputed.unknown) | {
        TIED: accepts.tied,
        UNCOUNTED: mask((verifies.num_correct != NULL) & (verifies.non_draft is None) & ~accepts.idle),
        "no accept_index, accept_len or num_correct_drafts": ~accepts.told & ~accepts.idle,
        "no block_start": index.present & (verifies.origin == NULL) & ~accepts.idle,
        "an entry of accept_index is missing": index.present & ~index.filled & ~accepts.idle,
    }
    return verdict(failed, lambda i: _explain_path(accepts, i), reasons)


def _open(accepts: ReplayedAccepts, reasons: Mapping[str, Mask]) -> dict[str, Mask]:
    return {why: where & ~accepts.idle for why, where in reasons.items()}


def _explain_path(accepts: ReplayedAccepts, i: int) -> Details:
    differs, batch = accepts.difference(i), accepts.verifies
    marked = () if differs.k is None else (differs.k,)
    due, told = _tokens(accepts, i) if differs.what == "predict" else _rows(accepts, i)
    return Details(
        message=f"{_said(accepts, i, differs)} ({accepts.kernel(i)})",
        expected=due,
        actual=told,
        evidence=(
            draft_tree(batch, i, set(accepts.rows_due(i)), _engine_rows(accepts, i)),
            accept_entries(batch, i, marked),
            _beside(accepts, i, marked),
        ),
    )


def _said(accepts: ReplayedAccepts, i: int, differs: Difference) -> str:
    what, k, due, told = differs
    if what == "row":
        if told is None:
            return (
                f"the paths part at k = {k}: the engine stops there, replay accepts {_row(accepts, i, due)}"
            )
        goes_on = "stops there" if due is None else _row(accepts, i, due)
        return f"the paths part at k = {k}: the engine accepted {_row(accepts, i, told)}, replay {goes_on}"
    if what == "predict":
        row = _row(accepts, i, accepts.rows_due(i)[k or 0])
        return f"behind accepted row {row} the engine predicts {told}, the target chose {due}"
    return f"the engine reports {what} {told}, replay {due}"


def _engine_rows(accepts: ReplayedAccepts, i: int) -> set[int] | None:
    """The rows that the engine accepted, None where it did not record them."""
    told = accepts.rows_told(i)
    return None if told is None else {row for row in told if row is not None}


def _row(accepts: ReplayedAccepts, i: int, row: int | None) -> str:
    """Such as `C 23`; a row that is none of the verify's by its number."""
    if row is None:
        return "no row"
    if not 0 <= row < int(accepts.verifies.width[i]):
        return f"row {row} outside its block"
    return row_name(row, value_at(accepts.verifies, "draft_tokens", i, row))


def _rows(accepts: ReplayedAccepts, i: int) -> tuple[str, str]:
    """The rows and counts due, and those recorded."""
    batch, due, told = accepts.verifies, accepts.rows_due(i), accepts.rows_told(i)
    correct_due = "unknown" if batch.non_draft is None else len(due) - batch.non_draft
    counts = f"accept_len {len(due)}, num_correct_drafts {correct_due}"
    rows = "not recorded" if told is None else str([row for row in told if row is not None])
    n, correct = number(batch.accept_len[i]), number(batch.num_correct[i])
    return (
        f"rows {due}, {counts}" if accepts.recomputed.exact[i] else f"the front of rows {due}",
        f"rows {rows}, accept_len {n}, num_correct_drafts {correct}",
    )


def _tokens(accepts: ReplayedAccepts, i: int) -> tuple[str, str]:
    """The output tokens due behind the accepted rows, and those recorded."""
    rows = accepts.rows_due(i)
    told = [value_at(accepts.verifies, "predict", i, row) for row in rows]
    return f"predict {accepts.tokens_due(i)} on rows {rows}", f"predict {told}"


def _beside(accepts: ReplayedAccepts, i: int, marked: tuple[int, ...]) -> Evidence:
    """The path as replayed and as recorded, row by row, with the token behind each row."""
    due, told = accepts.rows_due(i), accepts.rows_told(i) or []
    tokens = accepts.tokens_due(i)
    rows: list[tuple[Cell, ...]] = []
    for k in range(max(len(due), sum(row is not None for row in told))):
        here, there = due[k] if k < len(due) else None, told[k] if k < len(told) else None
        token = tokens[k] if k < len(due) and accepts.recomputed.exact[i] else None
        rows.append((k, here, there, token, value_at(accepts.verifies, "predict", i, there)))
    columns = ("k", "row replayed", "row recorded", "token replayed", "predict")
    return Evidence(title="the path, replayed and recorded", columns=columns, rows=tuple(rows), marked=marked)


@rule(
    "RPL-BONUS",
    severity=ERROR,
    needs=("accept",),
    scope="replayed_accepts",
    look_at="run_eagle_verify → fill_bonus_tokens_func",
    follows=("ACC-COUNT", "ACC-BLOCK", "ACC-CHAIN", "ACC-SHIFT", "RPL-ACCEPT"),
)
def replayed_bonus(accepts: ReplayedAccepts) -> Judgement:
    """The bonus handed on is the output token of the last row that the kernel accepts.

    Exceptions: for a sampled verify the last row is the recorded one; simulated acceptance fills tokens of its own; where a
    path is recomputed by predict and is not the engine's, the token at its end is unknown.
    """
    verifies, due = accepts.verifies, accepts.bonus
    judged = (due != NULL) & (verifies.bonus_token != NULL) & ~accepts.idle
    sampled = accepts.recomputed.sampled & (due == NULL)
    reasons = {
        "no bonus_token": verifies.bonus_token == NULL,
        "simulated acceptance fills tokens of its own": verifies.simulated,
        PARTED: accepts.parted,
        TIED: accepts.tied,
        "no predict on the last accepted row": sampled,
        **_not_sampled(accepts),
        "the token behind the last accepted row is not known": due == NULL,
    }
    failed = judged & (due != verifies.bonus_token)
    return verdict(failed, lambda i: _explain_bonus(accepts, i), _open(accepts, reasons))


def _not_sampled(accepts: ReplayedAccepts) -> dict[str, Mask]:
    """Why nothing can be recomputed, for verifies that are not sampled."""
    recomputed = accepts.recomputed
    return {why: where & ~recomputed.sampled for why, where in recomputed.unknown.items()}


def _explain_bonus(accepts: ReplayedAccepts, i: int) -> Details:
    due, told = int(accepts.bonus[i]), int(accepts.verifies.bonus_token[i])
    exact = bool(accepts.recomputed.exact[i])
    last = int((accepts.recomputed.path if exact else accepts.verifies.path)[i][-1])
    return Details(
        message=f"the bonus handed on is {told}, replay reads {due} behind {_row(accepts, i, last)} ({BONUS})",
        expected=f"bonus {due}, the output token of row {last}",
        actual=f"bonus {told}",
        evidence=(strips(accepts.verifies, i), _beside(accepts, i, ())),
    )


@rule(
    "RPL-LEN",
    severity=ERROR,
    needs=("accept",),
    scope="replayed_accepts",
    look_at="eagle_worker verify (new_seq_lens = seq_lens + accept_lens)",
    follows=("ACC-COUNT", "ACC-BLOCK", "ACC-CHAIN", "LEN-SEQ", "RPL-ACCEPT"),
)
def replayed_length(accepts: ReplayedAccepts) -> Judgement:
    """The length after a verify is the length before plus the rows that the kernel accepts.

    Exceptions: a sampled or simulated verify grows by the recorded rows; UNO verifies from one past the frontier; where a
    path is recomputed by predict and is not the engine's, its length is unknown.
    """
    verifies, due = accepts.verifies, accepts.new_seq_len
    told = accepts.recomputed.sampled | verifies.simulated
    uno = verifies.of("algorithm", "uno")
    judged = (due != NULL) & (verifies.new_seq_len != NULL) & ~uno & ~accepts.idle
    reasons = {
        "the engine's algorithm verifies from one past the frontier": uno,
        "no new_seq_len": verifies.new_seq_len == NULL,
        "no seq_len": verifies.seq_len == NULL,
        PARTED: accepts.parted,
        TIED: accepts.tied,
        "no accept_index or accept_len": told & (verifies.accepted == NULL),
        **_not_sampled(accepts),
    }
    failed = judged & (due != verifies.new_seq_len)
    return verdict(failed, lambda i: _explain_length(accepts, i), _open(accepts, reasons))


def _explain_length(accepts: ReplayedAccepts, i: int) -> Details:
    due, told, before = (
        int(column[i])
        for column in (accepts.new_seq_len, accepts.verifies.new_seq_len, accepts.verifies.seq_len)
    )
    lengths: tuple[tuple[Cell, ...], ...] = (
        ("seq_len", before, before),
        ("accepted rows", due - before, number(accepts.verifies.accepted[i])),
        ("new_seq_len", due, told),
    )
    return Details(
        message=f"the new length is {told}, replay makes it {due} ({LENGTHS})",
        expected=f"new_seq_len {due} = seq_len {before} + {quantity(due - before, 'accepted row')}",
        actual=f"new_seq_len {told}",
        evidence=(
            Evidence(title="growth of the sequence", columns=("", "replayed", "recorded"), rows=lengths),
            _beside(accepts, i, ()),
        ),
    )
