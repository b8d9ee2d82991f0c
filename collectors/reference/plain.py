"""The oracle: greedy decoding without pages, drafts or batches. One token at a time, KV by position."""

from __future__ import annotations

import torch
from torch import Tensor

from speckv_debug.collectors.reference.addressing import causal
from speckv_debug.collectors.reference.model import DTYPE, Addresses, Entries, Transformer
from speckv_debug.collectors.reference.plain_layers import plain_layers


class PositionStore:
    """Keys and values where the slot is the position."""

    def __init__(self, model: Transformer, length: int) -> None:
        """Room for `length` positions."""
        shape = model.shape
        indexer = model.side.indexer if model.side else None
        self.index = torch.zeros(length, indexer.width if indexer else 0, dtype=DTYPE)
        self._beside = plain_layers(model.side, length) if model.side else {}
        self.memory = torch.zeros(length, shape.layers, 2, shape.heads, shape.head_dim, dtype=DTYPE)

    def write(self, layer: int, slots: Tensor, keys: Tensor, values: Tensor) -> None:
        """Store `[n, heads, head_dim]`."""
        self.memory[slots, layer, 0] = keys
        self.memory[slots, layer, 1] = values

    def read(self, layer: int, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values at `slots`."""
        return self.memory[slots, layer, 0], self.memory[slots, layer, 1]

    def beside(self, layer: int, x: Tensor, where: Addresses) -> Entries | None:
        """What the definition of the layer gives, without rings, pages or drafts."""
        found = self._beside.get(layer)
        return found.look(x, where.positions[0]) if found else None


def plain_greedy(
    model: Transformer, prompt: list[int], max_new_tokens: int, stop_token: int | None = None
) -> list[int]:
    """Output tokens of plain greedy decoding."""
    store, tokens, output = PositionStore(model, len(prompt) + max_new_tokens), list(prompt), list[int]()
    while len(output) < max_new_tokens and stop_token not in output:
        start = len(prompt) + len(output) - len(tokens)
        token = int(model.logits(_extend(model, store, start, tokens)[0, -1]).argmax())
        output.append(token)
        tokens = [token]
    return output


def plain_kv(model: Transformer, tokens: list[int]) -> Tensor:
    """KV of `tokens` `[n, layers, 2, heads, head_dim]`, computed in one causal forward."""
    store = PositionStore(model, len(tokens))
    if tokens:
        _extend(model, store, 0, tokens)
    return store.memory


def _extend(model: Transformer, store: PositionStore, start: int, tokens: list[int]) -> Tensor:
    end = start + len(tokens)
    positions = torch.arange(start, end)[None]
    mask = torch.ones(1, len(tokens), end, dtype=torch.bool)
    mask[:, :, start:] = causal(1, len(tokens))
    context = torch.arange(end)[None]
    where = Addresses(positions=positions, slots=positions, context=context, mask=mask, behind=context)
    return model.forward(model.embed(torch.tensor([tokens])), where, store)
