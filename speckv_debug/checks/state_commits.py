"""ST-MAMBA: the recurrent state that a request goes on from is that of its last accepted row."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import number
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.replay.ragged import NULL, Mask
from speckv_debug.replay.recurrent import RecurrentState

SHOWN = 6
"""Commits that the evidence lists."""


@rule(
    "ST-MAMBA",
    severity=ERROR,
    needs=("state_commit",),
    scope="recurrent_state",
    look_at="commit_mamba_states_after_verify",
    follows=("ACC-COUNT", "ACC-BLOCK", "ST-MAMBA"),
)
def last_accepted_state_is_kept(state: RecurrentState) -> Judgement:
    """After a verify a request keeps the recurrent state behind its last accepted row, A[n-1], before it verifies again.

    The index is a row of the request's own block, the state its own row's; a commit never takes an older verify than the one
    before. A prefix hit loads a state that the tree tracks, of the node that it ends in. Each rank and stage is judged by its
    own accepts, which ACC-RANK compares.

    Exceptions: a commit may be deferred to the start of the next verify; where all rows of the verify are accepted the
    advanced state may stay as it is; a state may be kept twice (tracked for the tree).
    """
    if not len(state):
        return verdict(np.zeros(0, dtype=np.bool_), lambda i: _explain(state, i))
    told = state.step_index != NULL
    commits = {
        "no step_index": ~told,
        "no accept whose path is known": (state.due == NULL) & told,
    }
    reasons = {why: _picked(state, hit, "state_commit") for why, hit in commits.items()}
    reasons["no path is known"] = _picked(state, state.kept == NULL, "accept")
    missing = ~state.committed & ~state.advanced & (state.kept != NULL)
    failed = _picked(state, state.wrong_step | state.wrong_row | state.backward, "state_commit")
    failed |= _picked(state, missing, "accept")
    if len(state.rows["cache"]):
        (gone, unseen), (elsewhere, unplaced) = state.untracked, state.misplaced
        failed[state.at["cache"]] = gone | elsewhere
        reasons["what the tree tracks was not seen"] = _at_hits(state, unseen)
        reasons["neither nodes nor lengths of the state and of the hit"] = _at_hits(state, unplaced)
    return verdict(failed, lambda i: _explain(state, i), reasons)


def _picked(state: RecurrentState, hit: Mask, table: str) -> Mask:
    """A mask over all events of a table as one over the instances."""
    found = np.zeros(len(state), dtype=np.bool_)
    found[state.at[table]] = hit[state.rows[table]]
    return found


def _at_hits(state: RecurrentState, hit: Mask) -> Mask:
    """A mask over the prefix hits as one over the instances."""
    found = np.zeros(len(state), dtype=np.bool_)
    found[state.at["cache"]] = hit
    return found


def _explain(state: RecurrentState, i: int) -> Details:
    table, row = state.event(i)
    if table == "accept":
        return _explain_missing(state, row)
    if table == "cache":
        return _explain_hit(state, row)
    return _explain_commit(state, row)


def _explain_hit(state: RecurrentState, hit: int) -> Details:
    number_, cache = int(np.searchsorted(state.rows["cache"], hit)), state.columns("cache")
    slots = cache.lists("slots")[hit].tolist()
    message = f"a prefix hit loads recurrent state {', '.join(map(str, slots[:4]))}"
    if state.untracked[0][number_]:
        return Details(
            message=f"{message}, which the tree does not track",
            expected="a state that was inserted and not evicted, or none",
            actual="no such state",
            slots=tuple(slots),
        )
    served, node = cache.int_at("served_len", hit), cache.int_at("node", hit)
    own = state.source(number_)
    return Details(
        message=f"{message}, which is that behind {cache.int_at('key_len', own)} tokens, for {served} tokens that it serves",
        expected=f"the state of node {node}, behind {served} tokens",
        actual=f"the state of node {cache.int_at('node', own)}, inserted by event {cache.int_at('seq', own)}",
        slots=tuple(slots),
    )


def _explain_missing(state: RecurrentState, verify: int) -> Details:
    kept, width = int(state.kept[verify]), int(state.verifies.width[verify])
    after = int(state.verifies.seq[state.next[verify]])
    return Details(
        message=f"no state is kept after a verify whose last accepted row is {kept}: the next verify (event {after}) goes on from "
        f"that of row {width - 1}",
        expected=f"a commit of row {kept} before the next verify",
        actual="none",
        evidence=(_path(state, verify),),
    )


def _explain_commit(state: RecurrentState, commit: int) -> Details:
    found, due = number(state.step_index[commit]), number(state.due[commit])
    verify = int(state.accept[commit])
    shown = (_commits(state, commit), *([_path(state, verify)] if verify >= 0 else []))
    if state.wrong_row[commit]:
        row, own = int(state.commit.ints("row")[commit]), int(state.own_row[commit])
        return Details(
            message=f"the state is kept for request row {row}, the request has row {own} in its accept",
            expected=f"the state of request row {own}",
            actual=f"the state of request row {row}",
            evidence=shown,
        )
    if state.wrong_step[commit]:
        return Details(
            message=f"the state after verify row {found} is kept, the last accepted row is {due}",
            expected=f"step_index {due}",
            actual=f"step_index {found}",
            evidence=shown,
        )
    before = int(state.verifies.seq[state.accept[state.earlier[commit]]])
    return Details(
        message=f"the state of an older verify (event {state.verifies.seq[verify]}) is kept after that of event {before}",
        expected="states are kept in the order of their verifies",
        actual="the state goes back in time",
        evidence=shown,
    )


def _path(state: RecurrentState, verify: int) -> Evidence:
    rows: tuple[tuple[Cell, ...], ...] = tuple(enumerate(state.verifies.path[verify].tolist()))
    return Evidence(
        title="accepted path", columns=("k", "verify row"), rows=rows, marked=(len(rows) - 1,) if rows else ()
    )


def _commits(state: RecurrentState, commit: int) -> Evidence:
    """The commits of the row up to this one, with what was due."""
    table = state.commit
    mine = np.flatnonzero(table.ints("row")[: commit + 1] == table.ints("row")[commit])[-SHOWN:]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            int(table.ints("seq")[k]),
            table.int_at("step", k),
            table.text_at("request", k),
            number(state.verifies.seq[state.accept[k]]) if state.accept[k] >= 0 else None,
            number(state.due[k]),
            number(state.step_index[k]),
        )
        for k in mine.tolist()
    )
    columns = ("seq", "step", "request", "accept", "row due", "row kept")
    return Evidence(title="commits of the row", columns=columns, rows=rows, marked=(len(rows) - 1,))
