"""Faults in the accept result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from speckv_debug.collectors.reference.batch import Round, VerifyInput
from speckv_debug.collectors.reference.draft_tree import NONE
from speckv_debug.collectors.reference.engine import Engine
from speckv_debug.collectors.reference.faults.shot import Shot, wrap
from speckv_debug.collectors.reference.verifier import Accepted
from speckv_debug.kernels.locate import bonus_tokens

Accept = Callable[[Round, VerifyInput, Tensor], Accepted]


def _spoil_accept(engine: Engine, spoil: Callable[[Round, VerifyInput, Accepted], None]) -> None:
    """Run `spoil` on each accept result before anything else sees it."""

    def around(accept: Accept) -> Accept:
        def faulty(round_: Round, draft: VerifyInput, logits: Tensor) -> Accepted:
            accepted = accept(round_, draft, logits)
            spoil(round_, draft, accepted)
            return accepted

        return faulty

    wrap(engine.verifier, "accept", around)


def stale_accept_tail(engine: Engine, shot: Shot) -> None:
    """One entry behind the path keeps the row of the round before."""
    before: list[Tensor] = []

    def spoil(round_: Round, draft: VerifyInput, accepted: Accepted) -> None:
        stale = before.pop() if before else None
        before.append(accepted.index.clone())
        if stale is None or stale.shape != accepted.index.shape:
            return
        for i, n in enumerate(accepted.lens.tolist()):
            inside = n < stale.shape[1] and stale[i, n] >= 0
            if inside and shot.due(engine.observer.step, round_.requests[i].id):
                accepted.index[i, n] = stale[i, n]

    _spoil_accept(engine, spoil)


def accept_len_one_too_large(engine: Engine, shot: Shot) -> None:
    """`accept_len = num_correct_drafts + 2`."""

    def spoil(round_: Round, draft: VerifyInput, accepted: Accepted) -> None:
        for i, n in enumerate(accepted.lens.tolist()):
            if 1 < n < accepted.index.shape[1] and shot.due(engine.observer.step, round_.requests[i].id):
                accepted.lens[i] += 1

    _spoil_accept(engine, spoil)


def accept_index_local(engine: Engine, shot: Shot) -> None:
    """Rows of one request are counted from its own block."""

    def spoil(round_: Round, draft: VerifyInput, accepted: Accepted) -> None:
        width = draft.tokens.shape[1]
        for i in range(1, round_.size):
            if shot.due(engine.observer.step, round_.requests[i].id):
                valid = accepted.index[i] >= 0
                accepted.index[i, valid] -= i * width

    _spoil_accept(engine, spoil)


def wrong_sibling_accepted(engine: Engine, shot: Shot) -> None:
    """The walk over siblings stops one child too late or too early."""

    def spoil(round_: Round, draft: VerifyInput, accepted: Accepted) -> None:
        width = draft.tokens.shape[1]
        assert accepted.target_predict is not None
        for i, n in enumerate(accepted.lens.tolist()):
            path = [row - i * width for row in accepted.index[i, :n].tolist()]
            sibling = _sibling(draft, i, path)
            if sibling != NONE and shot.due(engine.observer.step, round_.requests[i].id):
                accepted.index[i, n - 1] = i * width + sibling
                accepted.predict[i * width + sibling] = accepted.target_predict[i, sibling]

    _spoil_accept(engine, spoil)


def _sibling(draft: VerifyInput, i: int, path: list[int]) -> int:
    """Another child of the last accepted row's parent, or -1."""
    if len(path) < 2:
        return NONE
    child = int(draft.next_token[i, path[-2]])
    return child if child != path[-1] else int(draft.next_sibling[i, child])


def bonus_wrong_stride(engine: Engine, shot: Shot) -> None:
    """`bonus = compacted[i * W + n - 1]`, right for the first request only."""
    verifier = engine.verifier

    def around(bonus: Callable[[Accepted], Tensor]) -> Callable[[Accepted], Tensor]:
        def faulty(accepted: Accepted) -> Tensor:
            right = bonus(accepted)
            compacted = verifier.to_front("predict", accepted.predict, accepted)
            wrong = bonus_tokens(compacted, accepted.lens, accepted.index.shape[1])
            different = torch.nonzero(right != wrong).flatten().tolist()
            if different and shot.due(engine.observer.step, engine.running[different[0]].id):
                return wrong
            return right

        return faulty

    wrap(verifier, "bonus", around)


PLANTS: dict[str, Callable[[Engine, Shot], Any]] = {
    "stale-accept-tail": stale_accept_tail,
    "accept-len-one-too-large": accept_len_one_too_large,
    "accept-index-local": accept_index_local,
    "wrong-sibling-accepted": wrong_sibling_accepted,
    "bonus-wrong-stride": bonus_wrong_stride,
}
