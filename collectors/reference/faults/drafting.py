"""Faults in the draft model's own KV, and in the tokens that it starts from and stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from speckv_debug.collectors.reference.batch import Chunk, Round
from speckv_debug.collectors.reference.engine import Engine
from speckv_debug.collectors.reference.faults.shot import Shot, wrap
from speckv_debug.collectors.reference.request import DraftInput, Request

Prefill = Callable[[Chunk, list[int], Tensor], DraftInput]


def draft_prefill_skipped(engine: Engine, shot: Shot) -> None:
    """The draft model is not run over the first chunk of a prompt; it goes wrong as it reads that with the next one."""
    victims: list[Request] = []
    shot.occasion = 1

    def around(prefill: Prefill) -> Prefill:
        def faulty(chunk: Chunk, following: list[int], features: Tensor) -> DraftInput:
            if not victims and not chunk.last and chunk.start == 0:
                victims.append(chunk.request)
                feature = features[0, -1]
                logits = engine.drafter.model.logits(feature)
                return DraftInput(seq_len=chunk.end, bonus=following[-1], feature=feature, logits=logits)
            if chunk.request in victims:
                shot.due(engine.observer.step, chunk.request.id)
            return prefill(chunk, following, features)

        return faulty

    wrap(engine.drafter, "prefill", around)


def root_is_not_the_bonus(engine: Engine, shot: Shot) -> None:
    """A round starts from the output token before the bonus that was just sampled."""

    def around(roots: Callable[[Round], Tensor]) -> Callable[[Round], Tensor]:
        def faulty(round_: Round) -> Tensor:
            tokens = roots(round_)
            for i, request in enumerate(round_.requests):
                said = request.output
                stale = len(said) > 1 and said[-2] != int(tokens[i])
                if stale and shot.due(engine.observer.step, request.id):
                    tokens[i] = said[-2]
            return tokens

        return faulty

    wrap(engine.drafter, "_roots", around)


def chunk_ends_with_sample(engine: Engine, shot: Shot) -> None:
    """At the end of a chunk the draft stores what the target would say there, not what the prompt goes on with."""
    shot.occasion = 1

    def around(prefill: Prefill) -> Prefill:
        def faulty(chunk: Chunk, following: list[int], features: Tensor) -> DraftInput:
            said = int(engine.model.logits(features[0, -1]).argmax())
            if not chunk.last and said != following[-1] and shot.due(engine.observer.step, chunk.request.id):
                following = [*following[:-1], said]
            return prefill(chunk, following, features)

        return faulty

    wrap(engine.drafter, "prefill", around)


PLANTS: dict[str, Callable[[Engine, Shot], Any]] = {
    "draft-prefill-skipped": draft_prefill_skipped,
    "root-is-not-the-bonus": root_is_not_the_bonus,
    "draft-chunk-ends-with-a-sample": chunk_ends_with_sample,
}
