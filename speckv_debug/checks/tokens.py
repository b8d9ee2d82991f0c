"""LEN-TOKEN: the tokens that forwards take in are those of the request."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import number
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.replay.ragged import NULL
from speckv_debug.replay.written_tokens import WrittenTokens

SHOWN = 8


@rule(
    "LEN-TOKEN",
    severity=ERROR,
    needs=(),
    scope="written_tokens",
    look_at="eagle_worker draft (root of the verify = bonus_tokens of the round before), prepare_for_decode (input_ids)",
    follows=("ACC-COUNT", "ACC-SHIFT", "LEN-SEQ", "LEN-TOKEN"),
)
def token_is_the_requests(written: WrittenTokens) -> Judgement:
    """A forward begins with the token that the one before it handed on; positions rise by 1, and no input id is -1.

    The token handed on is the bonus of a verify, or what an extend or plain decode sampled, at the length that it leads to.

    Exceptions: an extend is where the tokens of a prompt are known from; tree siblings share a position; what was handed
    on is forgotten at an end, a retract, a session trim or a cut; engines that rewrite draft ids; UNO, which verifies
    from one past the frontier.
    """
    uno = written.of_verify & (written.verifies.non_draft != 1)
    rewritten = np.full(len(written), written.verifies.tokens_rewritten)
    told = (written.due != NULL) & (written.first != NULL) & ~rewritten
    wrong = (told & (written.first != written.due)) | written.jumping
    reasons = {
        "the engine's algorithm verifies from one past the frontier": uno,
        "the engine may rewrite tokens between sampling and output": rewritten,
        "no tokens of the forward": written.first == NULL,
        "the token handed on for its first position is not known": ~written.extending & (written.due == NULL),
    }
    return verdict((wrong & ~uno) | written.placeholder, lambda i: _explain(written, i), reasons)


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
    return Details(
        message=f"the positions of the {what} do not rise by 1 from {start}",
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
