"""The KV that a request leaves behind, against that of a plain run over its tokens."""

from __future__ import annotations

import torch

from speckv_debug.collectors.reference.config import EngineConfig
from speckv_debug.collectors.reference.model import Transformer, windowed
from speckv_debug.collectors.reference.plain import plain_greedy, plain_kv
from speckv_debug.collectors.reference.request import Request

TOLERANCE = 1e-9


class KeptKV:
    """Committed tokens and KV of requests whose hold ended; a witness of the engine."""

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.ended: list[tuple[str, list[int], torch.Tensor]] = []

    def __call__(self, request: Request, kv: torch.Tensor) -> None:
        self.ended.append((request.id, request.tokens[: request.committed], kv))

    def wrong(self, model: Transformer) -> list[str]:
        """Ids of those whose KV is not that of a plain run, as far as it is kept."""
        return [
            name
            for name, tokens, kv in self.ended
            if len(tokens) != len(kv) or off_by(kv, plain_kv(model, tokens), self.config) >= TOLERANCE
        ]


def wrong_texts(model: Transformer, requests: list[Request]) -> list[str]:
    """Ids of finished requests that say something else than plain greedy decoding."""
    return [
        request.id
        for request in requests
        if request.ended == "finish"
        and request.text != plain_greedy(model, request.prompt, request.max_new_tokens, request.stop_token)
    ]


def off_by(kv: torch.Tensor, plain: torch.Tensor, config: EngineConfig) -> float:
    """The largest difference in what is kept: full layers keep everything, window layers the window.

    Both `[n, layers, 2, heads, head_dim]`.
    """
    found = 0.0
    for layer in range(kv.shape[1]):
        first = max(0, len(kv) - config.window) if config.window and windowed(layer) else 0
        found = max(found, float((kv[first:, layer] - plain[first:, layer]).abs().max()))
    return found


def assert_kept(kv: torch.Tensor, plain: torch.Tensor, config: EngineConfig) -> None:
    """Nothing that is kept differs."""
    assert off_by(kv, plain, config) < TOLERANCE
