"""ACC: the accept result is a path of the draft tree, and its tokens are those that the target chose."""

from __future__ import annotations

import itertools

import numpy as np

from speckv_debug.checks.evidence import accept_entries, draft_tree, number, row_name, strips, value_at
from speckv_debug.checks.rule import ERROR, Details, Indices, Judgement, rule
from speckv_debug.checks.verdict import kept, verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import quantity
from speckv_debug.replay.blocks import due_starts
from speckv_debug.replay.chains import edges
from speckv_debug.replay.ragged import NULL, Mask, any_per_list, mask
from speckv_debug.replay.verifies import VerifyBatch

NO_PATH = "accept_index does not name accept_len rows of the request's block"
NO_DRAFTS, NO_PREDICTIONS = "no draft_tokens", "no predictions"
TOO_SHORT = "draft_tokens or predictions do not reach all accepted rows"
UNCOUNTED = "settings.num_non_draft is no number of rows"
ACCEPT = "eagle_sample → verify_tree_greedy (accept_index, accept_token_num)"


@rule("ACC-COUNT", severity=ERROR, needs=("accept",), scope="verifies", look_at=ACCEPT)
def accept_count(batch: VerifyBatch) -> Judgement:
    """The accepted path has as many rows as the engine reports: filled accept_index = accept_len = drafts + bonus.

    The -1 entries form a suffix, and num_non_draft <= accept_len <= min(index width, verify width).

    Exceptions: rows that pad the batch; the number of non-draft tokens is the engine's (1 for EAGLE); the buffer may be
    wider than the path; a chain engine gives lengths only and 0 for an inactive row; simulated acceptance is a valid
    layout.
    """
    if batch.plain:
        return kept(len(batch))
    n, index, non_draft = batch.accept_len, batch.ragged("accept_index"), batch.non_draft or 0
    correct = batch.num_correct != NULL
    hole = any_per_list(
        (index.values == -1) & (index.within < batch.filled[index.owners]), index.owners, len(batch)
    )
    wrong = index.present & ((batch.filled != n) | hole | (n > index.lengths))
    wrong |= correct & (n != batch.num_correct + non_draft) & (batch.non_draft is not None)
    wrong |= (n < non_draft) | ((batch.width != NULL) & (n > batch.width))
    idle = batch.padding | (~index.present & (n == 0) & (~correct | (batch.num_correct == 0)))
    failed = wrong & (n != NULL) & ~idle
    nothing = ~index.present & ~correct & ~idle
    pathless = ~index.present & ~idle & (bool(index.present.any()) | ~batch.lengths_only)
    reasons = {
        "no accept_len": n == NULL,
        "no accept_index and no num_correct_drafts": nothing,
        "no accept_index": pathless,
        UNCOUNTED: mask(correct & ~idle & (batch.non_draft is None)),
    }
    return verdict(failed, lambda i: _explain_count(batch, i), reasons)


def _explain_count(batch: VerifyBatch, i: int) -> Details:
    filled, n, correct = int(batch.filled[i]), int(batch.accept_len[i]), number(batch.num_correct[i])
    later = [str(batch.request[j]) for j in batch.later_in_step(i).tolist()]
    names = ", ".join(later[:5]) + (" …" if later[5:] else "")
    shift = f"; the packed lists of the requests behind it in the batch may shift ({names})" if later else ""
    drafts, others = ("?" if count is None else count for count in (correct, batch.non_draft))
    said = f"accept_len {n}, {drafts} correct drafts + {others}"
    held = (
        f"{quantity(filled, 'row')} in accept_index"
        if batch.ragged("accept_index").present[i]
        else "no accept_index"
    )
    origin = number(batch.origin[i]) or 0
    rows = {entry - origin for entry in batch.ragged("accept_index")[i].tolist() if entry != -1}
    entries = len(batch.ragged("accept_index")[i])
    marked = tuple(k for k in range(entries) if min(n, filled) <= k < max(n, filled))
    return Details(
        message=f"the engine reports {quantity(n, 'accepted row')}, its accept_index names {filled}{shift}",
        expected="as many rows in accept_index as accept_len = num_correct_drafts + non-draft tokens, -1 behind them",
        actual=f"{said}, {held}, index width {entries}, verify width {batch.width[i]}",
        evidence=(draft_tree(batch, i, rows), accept_entries(batch, i, marked)),
    )


@rule(
    "ACC-BLOCK", severity=ERROR, needs=("accept",), scope="verifies", look_at=ACCEPT, follows=("ACC-COUNT",)
)
def accept_block(batch: VerifyBatch) -> Judgement:
    """The accepted rows are distinct rows of the request's own block, and the first is its root.

    Blocks of one step are disjoint, and where all requests verify `num_draft_tokens` rows, one begins where the other
    ends.

    Exceptions: rows may be of the whole batch or local (`settings.accept_index_rows`); what lies behind accept_len is
    padding; rows that pad the batch.
    """
    if batch.plain:
        return kept(len(batch))
    index = batch.ragged("accept_index")
    judged = (index.within < batch.accepted[index.owners]) & (index.values != -1)
    local = index.values - batch.origin[index.owners]
    outside = (local < 0) | (local >= batch.width[index.owners])
    wrong = any_per_list(judged & (outside | ((index.within == 0) & (local != 0))), index.owners, len(batch))
    wrong |= _repeated(index.owners, local, judged & ~outside, len(batch))
    bare = batch.width == NULL
    no_origin = batch.origin == NULL
    failed = wrong & index.present & ~bare & ~no_origin & ~batch.padding
    failed |= due_starts(batch) != NULL
    reasons = {
        "the engine gives accept lengths only": ~index.present & batch.lengths_only & ~batch.padding,
        "no accept_index": ~index.present & ~batch.padding,
        "no block_start": no_origin & ~batch.padding,
        "no width": bare & ~batch.padding,
    }
    return verdict(failed, lambda i: _explain_block(batch, i), reasons)


def _repeated(owners: Indices, local: Indices, judged: Mask, count: int) -> Mask:
    """For each request whether one row is named twice."""
    keys = np.sort((owners[judged] << 32) + local[judged])
    found = np.zeros(count, dtype=np.bool_)
    found[keys[1:][keys[1:] == keys[:-1]] >> 32] = True
    return found


def _explain_block(batch: VerifyBatch, i: int) -> Details:
    if (due := int(due_starts(batch)[i])) != NULL:
        return _explain_place(batch, i, due)
    origin, width = int(batch.origin[i]), int(batch.width[i])
    path = batch.ragged("accept_index")[i].tolist()[: int(batch.accepted[i])]
    wrong = [
        k
        for k, entry in enumerate(path)
        if not origin <= entry < origin + width or entry in path[:k] or (k == 0 and entry != origin)
    ]
    return Details(
        message=f"accept_index names rows that are not the request's own: {[path[k] for k in wrong]}",
        expected=f"root row {origin} first, then distinct rows of [{origin}, {origin + width})",
        actual=f"rows {path}",
        evidence=(accept_entries(batch, i, tuple(wrong)),),
    )


def _explain_place(batch: VerifyBatch, i: int, due: int) -> Details:
    others = np.flatnonzero(batch.step == batch.step[i])
    rows: list[tuple[Cell, ...]] = [
        (batch.request[k], number(batch.batch_index[k]), number(batch.block_start[k]), number(batch.width[k]))
        for k in others.tolist()
    ]
    start = int(batch.block_start[i])
    return Details(
        message=f"the request's block begins at row {start} of the batch, the rows before it end at {due}",
        expected=f"a block that begins at row {due}",
        actual=f"rows [{start}, {start + int(batch.width[i])})",
        evidence=(
            Evidence(
                title="blocks of the batch",
                columns=("request", "batch index", "block_start", "width"),
                rows=tuple(rows[:64]),
                marked=tuple(k for k, other in enumerate(others[:64].tolist()) if other == i),
            ),
        ),
    )


@rule(
    "ACC-CHAIN",
    severity=ERROR,
    needs=("accept",),
    scope="verifies",
    look_at=ACCEPT,
    follows=("ACC-COUNT", "ACC-BLOCK"),
)
def accept_chain(batch: VerifyBatch) -> Judgement:
    """Each accepted row is a child of the accepted row before it, and greedy takes the child that the target chose.

    A chain layout accepts its rows in order: `A[k] = k`; where an engine gives lengths only, the tokens are judged.

    Exceptions: in the sampling modes the accepted child need not be the argmax; of siblings with one token any may be
    taken; simulated acceptance on a tree takes rows 0 .. n-1, which need not be a path.
    """
    if batch.plain:
        return kept(len(batch))
    chain, simulated = batch.of("layout", "chain"), batch.simulated
    unlinked = ~batch.parents.present & ~chain
    broken, untold = edges(batch, unlinked | (simulated & ~chain))
    failed = broken & ~batch.padding
    bare = untold | ~batch.ragged("target_predict").present
    silent = untold & batch.of("sampling", "greedy") & ~batch.padding
    reasons = {
        "the engine gives accept lengths only": batch.lengths_only & bare & ~batch.padding,
        NO_PATH: ~batch.path_known & ~batch.padding,
        "no tree links": unlinked & ~simulated & ~batch.padding & (batch.path.lengths > 1),
        NO_DRAFTS: silent & ~batch.ragged("draft_tokens").present,
        NO_PREDICTIONS: silent & ~batch.chosen.present,
        TOO_SHORT: silent,
    }
    return verdict(failed, lambda i: _explain_chain(batch, i), reasons)


def _explain_chain(batch: VerifyBatch, i: int) -> Details:
    path, parents = batch.path[i].tolist(), batch.parents[i].tolist()
    for k, (row, child) in enumerate(itertools.pairwise(path)):
        token, chosen = (
            value_at(batch, "draft_tokens", i, child),
            number(int(batch.chosen.at(np.array([i]), np.array([row]))[0])),
        )
        this, that = row_name(row, value_at(batch, "draft_tokens", i, row)), row_name(child, token)
        if child >= len(parents) or parents[child] != row:
            parent = row_letter_of(batch, i, parents[child]) if child < len(parents) else "none"
            return _broken_edge(
                batch, i, k, f"{that} is no child of {this}", f"a child of {this}", f"parent {parent}"
            )
        if chosen is not None and token is not None and chosen != token:
            message = f"{that} was accepted after {this}, but the target chose {chosen} there"
            return _broken_edge(batch, i, k, message, f"the child of {this} with token {chosen}", that)
    return _broken_edge(
        batch, i, 0, "the accepted rows are not a chain", f"rows 0 to {len(path) - 1}", f"rows {path}"
    )


def row_letter_of(batch: VerifyBatch, i: int, row: int) -> str:
    """Name of a local row, `none` for an unlinked one."""
    return row_name(row, value_at(batch, "draft_tokens", i, row)) if row >= 0 else "none"


def _broken_edge(batch: VerifyBatch, i: int, k: int, message: str, expected: str, actual: str) -> Details:
    tree: Evidence = draft_tree(batch, i, set(batch.path[i].tolist()))
    return Details(
        message=message,
        expected=f"after accepted row {k}: {expected}",
        actual=actual,
        evidence=(tree, accept_entries(batch, i, (k + 1,))),
    )


@rule(
    "ACC-SHIFT",
    severity=ERROR,
    needs=("accept",),
    scope="verifies",
    look_at="run_eagle_verify → fill_bonus_tokens_func (bonus = predict[accept_index[n-1]])",
    follows=("ACC-COUNT", "ACC-BLOCK", "ACC-CHAIN", "ACC-SHIFT"),
)
def accept_shift(batch: VerifyBatch) -> Judgement:
    """Output and committed KV are one token apart: out[k] is the input of the next accepted row, the bonus comes last.

    `out = predict[path]`, `KV = draft_tokens[path]`, `out[k] = KV[k+1]`, `bonus = predict[path[n-1]]`.

    Exceptions: simulated acceptance fills tokens of its own; a watermark or vocabulary map may rewrite draft ids
    (`settings.watermark`, `settings.vocab_map`); stop and grammar cut the text, not this.
    """
    if batch.plain:
        return kept(len(batch))
    path = batch.path
    owners = path.owners
    out, kv = batch.on_path("predict"), batch.on_path("draft_tokens")
    last = path.within == path.lengths[owners] - 1
    following = np.append(kv[1:], NULL)
    compared = ~last & (not batch.tokens_rewritten)
    shifted = compared & (out != following) & (out != NULL) & (following != NULL)
    bonus = batch.bonus_token[owners]
    broken = shifted | (last & (out != bonus) & (out != NULL) & (bonus != NULL))
    simulated = batch.simulated
    failed = any_per_list(broken, owners, len(batch)) & ~simulated & ~batch.padding
    excused = batch.padding | simulated
    silent = any_per_list((out == NULL) | (compared & (following == NULL)), owners, len(batch)) & ~excused
    reasons = {
        NO_PATH: ~batch.path_known & ~excused,
        "no predict": ~batch.ragged("predict").present & ~excused,
        NO_DRAFTS: silent & ~batch.ragged("draft_tokens").present,
        TOO_SHORT: silent,
        "no bonus_token": (batch.bonus_token == NULL) & ~excused,
    }
    return verdict(failed, lambda i: _explain_shift(batch, i), reasons)


def _explain_shift(batch: VerifyBatch, i: int) -> Details:
    path = batch.path[i].tolist()
    out = [value_at(batch, "predict", i, row) for row in path]
    kv = [value_at(batch, "draft_tokens", i, row) for row in path]
    bonus = number(batch.bonus_token[i])
    if bonus is not None and out and out[-1] != bonus:
        message = f"the bonus handed on is {bonus}, the target's choice at the last accepted row is {out[-1]}"
        expected, actual = f"bonus {out[-1]} = predict of row {path[-1]}", f"bonus {bonus}"
    else:
        message = "the output is not the committed tokens one place on"
        expected, actual = f"output {kv[1:]} then the bonus", f"output {out}"
    return Details(message=message, expected=expected, actual=actual, evidence=(strips(batch, i),))
