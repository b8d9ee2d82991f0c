"""LEN-TOKEN: the tokens that forwards take in are those of the request."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import number
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.replay.chunk_tails import ChunkTails
from speckv_debug.replay.ragged import NULL
from speckv_debug.replay.stored_tokens import StoredTokens
from speckv_debug.replay.tokens import Tokens
from speckv_debug.replay.uncomputed import Uncomputed
from speckv_debug.replay.written_tokens import WrittenTokens

SHOWN = 8
NO_TOKENS = "no tokens of the forward"
NOT_HANDED_ON = "the token handed on for its first position is not known"


@rule(
    "LEN-TOKEN",
    severity=ERROR,
    needs=(),
    scope="tokens",
    look_at="eagle_worker draft (root of the verify = bonus_tokens of the round before), prepare_for_decode (input_ids), "
    "_draft_extend_for_prefill",
    follows=("ACC-COUNT", "ACC-SHIFT", "LEN-SEQ", "MOV-COMPACT", "LEN-TOKEN", "OWN-ROW"),
)
def token_is_the_requests(tokens: Tokens) -> Judgement:
    """The token computed at position p is that of prompt and output there, or of p + 1 where a drafter is one ahead.

    A forward of the target begins with the token that the one before it handed on: the bonus of a verify, or what an extend
    or plain decode sampled, at the length that it leads to. A verify computes the draft tokens of which its accept takes
    some, in a forward of its own where those are recorded. A drafter of the EAGLE family stores, behind a verify or a
    prefill, each position's next token, and at the end of a chunk the prompt's next one. Positions rise by 1, in a tree from
    each row to its children, in the accept and in the forward that computes its rows, and no input id of the target is -1.

    Exceptions: an extend is where the tokens of a prompt are known from; rows that were not accepted; tree siblings share a
    position; what was handed on is forgotten at an end, a retract, a session trim or a cut; engines that rewrite draft
    ids; UNO, which verifies from one past the frontier; drafters of several layers, which are further ahead each; a
    simulated accept; a drafter that is level with the target (`settings.draft_token_offset`); the end of a chunk in
    SGLang before 0.5.13.
    """
    written, stored = tokens.written, tokens.stored
    ahead = written.verifies.non_draft != 1
    uno = written.of_verify & ahead
    rewritten = np.full(len(written), written.verifies.tokens_rewritten)
    told = (written.due != NULL) & (written.first != NULL) & ~rewritten
    wrong = (told & (written.first != written.due)) | written.jumping
    kept = not written.verifies.tokens_rewritten
    past = np.full(len(stored), ahead)
    unlike, ends = (stored.wrong >= 0) & kept & ~past, tokens.tails.wrong & kept
    unlike |= (stored.misplaced >= 0) & ~past
    nothing = np.zeros_like(uno)
    reasons = {
        "the engine's algorithm verifies from one past the frontier": tokens.masks(uno, past),
        "the engine may rewrite tokens between sampling and output": tokens.masks(
            *(np.full(len(part), not kept) for part in (written, stored, tokens.tails))
        ),
        NO_TOKENS: tokens.masks(written.first == NULL),
        NOT_HANDED_ON: tokens.masks(~written.extending & (written.due == NULL)),
        "what its rows should hold is not known": tokens.masks(nothing, ~stored.compared),
    }
    never = tokens.uncomputed
    unseen = (never.before < 0) | never.dropped
    reasons["whether the recording would have the forward of the verify is not known"] = tokens.masks(
        nothing, np.zeros_like(past), np.zeros_like(ends), unseen
    )
    failed = tokens.masks((wrong & ~uno) | written.placeholder, unlike, ends, ~unseen)
    return verdict(failed, lambda i: _explain_one(tokens, i), reasons)


def _explain_one(tokens: Tokens, i: int) -> Details:
    number, at = tokens.part(i)
    if number == 0:
        return _explain(tokens.written, at)
    if number == 3:
        return _explain_uncomputed(tokens.uncomputed, at)
    part = tokens.stored if number == 1 else tokens.tails
    if number == 1 and tokens.stored.wrong[at] < 0:
        return _explain_placed(tokens.stored, at)
    return _explain_stored(part, at, verify=number == 1 and bool(tokens.stored.verify[at]))


def _explain_uncomputed(never: Uncomputed, i: int) -> Details:
    accept = int(never.index[i])
    drafted, n = never.verifies.ragged("draft_tokens")[accept].tolist(), int(never.verifies.accepted[accept])
    start = number(never.verifies.seq_len[accept])
    where = "its rows" if start is None else f"positions from {start} on"
    return Details(
        message=f"{n} rows of the verify are accepted, but no forward computed them: {where} hold what was there before",
        expected=f"a forward target_verify of step {number(never.verifies.step[accept])}",
        actual="none in the recording, which has those of other steps",
        evidence=(
            Evidence(
                title="rows that were accepted",
                columns=("row", "token"),
                rows=tuple((row, number(token)) for row, token in enumerate(drafted[:SHOWN])),
            ),
        ),
    )


def _explain_placed(stored: StoredTokens, i: int) -> Details:
    row, position, due = stored.placed(i)
    positions = stored.forward.lists("positions")[int(stored.index[i])]
    return Details(
        message=f"the target_verify computes row {row} at position {position}, its place in the tree is at {due}",
        expected=f"position {due} of row {row}",
        actual=f"position {position}",
        evidence=(_around_row("position computed", positions.tolist(), row, due),),
    )


def _around_row(name: str, values: list[int], row: int, due: int) -> Evidence:
    """The values of a forward around one row, beside what is due there."""
    first = max(0, row - SHOWN // 2)
    shown = values[first : first + SHOWN]
    rows: tuple[tuple[Cell, ...], ...] = (
        ("row", *range(first, first + len(shown))),
        (name, *(number(each) for each in shown)),
        (f"{name.split()[0]} due", *(due if first + k == row else None for k in range(len(shown)))),
    )
    columns = ("", *(str(k) for k in range(len(shown))))
    title = f"{name.split()[0]}s, row {row} of {len(values)}"
    return Evidence(title=title, columns=columns, rows=rows, marked=(1,))


def _explain_stored(stored: StoredTokens | ChunkTails, i: int, *, verify: bool) -> Details:
    row, position, token, due = stored.row(i)
    mode = stored.forward.text_at("mode", int(stored.index[i])) or "forward"
    where = f"row {row}" if position is None else f"position {position}"
    whose = "its draft token there" if verify else "the request's next token"
    what = "no token" if token == NULL else f"token {token}"
    values = stored.forward.lists("tokens")[int(stored.index[i])].tolist()
    return Details(
        message=f"the {mode} computes {what} at {where}, {whose} is {due}",
        expected=f"token {due} at {where}",
        actual=what,
        evidence=(_around_row("token computed", values, row, due),),
    )


def _explain(written: WrittenTokens, i: int) -> Details:
    start, first, due = (number(v[i]) for v in (written.start, written.first, written.due))
    what = "verify" if written.of_verify[i] else "forward"
    shown = (_strip(written, i),)
    if written.placeholder[i]:
        at = int(np.flatnonzero(written.tokens[i] == -1)[0])
        message = f"input id {at} of the {what} is the placeholder -1"
        return Details(message=message, expected="a token of the request", actual="-1", evidence=shown)
    if due is not None and first != due:
        return Details(
            message=f"the {what} begins with token {first} at position {start}, {due} was handed on for it",
            expected=f"token {due} at position {start}",
            actual=f"token {first}",
            evidence=shown,
        )
    way = " from each row to its children" if written.of_verify[i] else ""
    return Details(
        message=f"the positions of the {what} do not rise by 1{way}, from {start} on",
        expected=f"positions {start}, {(start or 0) + 1}, …",
        actual=f"positions {', '.join(str(p) for p in written.positions[i][:SHOWN].tolist())}",
        evidence=shown,
    )


def _strip(written: WrittenTokens, i: int) -> Evidence:
    """The first tokens with their positions, and the one that was handed on."""
    tokens = [number(token) for token in written.tokens[i][:SHOWN]]
    positions = [number(position) for position in written.positions[i][: len(tokens)]]
    positions += [None] * (len(tokens) - len(positions))
    due = [number(written.due[i]), *[None] * (len(tokens) - 1)]
    rows: tuple[tuple[Cell, ...], ...] = (
        ("position", *positions),
        ("token written", *tokens),
        ("token handed on", *due[: len(tokens)]),
    )
    more = f", the first {SHOWN} of {len(written.tokens[i])}" if len(written.tokens[i]) > SHOWN else ""
    columns = ("", *(str(k) for k in range(len(tokens))))
    return Evidence(title=f"tokens{more}", columns=columns, rows=rows, marked=(1,))
