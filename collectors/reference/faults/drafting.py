"""Faults in the draft model's own KV."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from speckv_debug.collectors.reference.batch import Chunk
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


PLANTS: dict[str, Callable[[Engine, Shot], Any]] = {"draft-prefill-skipped": draft_prefill_skipped}
