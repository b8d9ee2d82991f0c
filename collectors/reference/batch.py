"""What travels between scheduler and device: the requests of one step, its verify input, its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from speckv_debug.collectors.reference.request import DraftInput, Request

BatchKind = Literal["prefill", "verify"]


@dataclass(slots=True, kw_only=True)
class Chunk:
    """Positions `[start, end)` of a request that a prefill batch computes; `last` samples a token.

    `peers` are the slots of the window's pool that it was computed into, None without a window.
    """

    request: Request
    start: int
    end: int
    last: bool
    peers: list[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one step runs: prompt chunks, or a verify round of all running requests."""

    kind: BatchKind
    requests: list[Request]
    chunks: list[Chunk]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What the host learns of a step, at once or one step later.

    Attributes:
        step: The step that computed it.
        batch: What was run.
        tokens: Output tokens that each request gained; empty for a chunk that is not the last.
        accept_lens: Rows that each request accepted (verify only).
    """

    step: int
    batch: Batch
    tokens: list[list[int]]
    accept_lens: list[int]


class Round:
    """The running requests of one verify as device tensors."""

    def __init__(self, requests: list[Request]) -> None:
        """Take the requests' device state as it stands."""
        self.requests = requests
        self.inputs: list[DraftInput] = [_device(request) for request in requests]
        self.starts = [each.seq_len for each in self.inputs]
        self.rows = torch.tensor([request.row for request in requests])
        self.seq_lens = torch.tensor(self.starts)

    @property
    def size(self) -> int:
        """`bs`."""
        return len(self.requests)

    @property
    def longest(self) -> int:
        """The largest `seq_len`."""
        return max(self.starts)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyInput:
    """The draft trees of a round.

    Attributes:
        tokens: `[bs, w]`, row 0 the bonus token of the round before.
        positions: `[bs, w]`.
        next_token: `[bs, w]`.
        next_sibling: `[bs, w]`.
        sees: `[bs, w, w]` which rows of its block each row attends to.
        draft_probs: `[bs, w - 1, vocab]` that the rows were drawn from; None for greedy drafts.
    """

    tokens: Tensor
    positions: Tensor
    next_token: Tensor
    next_sibling: Tensor
    sees: Tensor
    draft_probs: Tensor | None


def _device(request: Request) -> DraftInput:
    assert request.device is not None
    return request.device
