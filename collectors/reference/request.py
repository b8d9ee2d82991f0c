"""A request as the host keeps it, and what the device keeps for it between two rounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from torch import Tensor

if TYPE_CHECKING:
    from speckv_debug.collectors.reference.prefix_tree import Node


class Identity(TypedDict):
    """The columns that say whose event it is."""

    request: str | None
    row: int | None
    epoch: int | None


@dataclass(slots=True, kw_only=True)
class DraftInput:
    """What the next round starts from, as the forward lane knows it (SGLang's future map).

    Attributes:
        seq_len: Positions whose KV is valid.
        bonus: The token at position `seq_len`: root of the next verify, no KV yet.
        feature: `[hidden]` of the draft model behind the bonus token.
        logits: `[vocab]` of the draft model for the position after it.
    """

    seq_len: int
    bonus: int
    feature: Tensor
    logits: Tensor


@dataclass(slots=True, kw_only=True, eq=False)
class Request:
    """One request from arrival to its end; a retract sends it back to the start with its output kept.

    Attributes:
        max_new_tokens: Output tokens that the client asked for.
        stop_token: Ends the output where it occurs.
        session: Session that keeps the KV when the request ends, or None.
        last_turn: The session ends with this request.
        committed: Positions whose KV the host counts as valid.
        allocated: Positions that have a slot.
        protected: Leading positions whose slots the prefix tree owns.
        node: Tree node that is locked for this request.
        rounds: Verify rounds that were prepared since it got its row (SGLang `decode_batch_idx`).
        evicted: Leading positions that have no slot in the sliding-window pool any more, but for those the tree owns.
        prefilled: Positions that prefill batches have been launched for.
        ended: `finish`, `abort` or None while it lives.
        retracted: Thrown out of its row; results in flight do not count.
    """

    id: str
    prompt: list[int]
    max_new_tokens: int
    stop_token: int | None = None
    session: str | None = None
    last_turn: bool = True
    output: list[int] = field(default_factory=list)
    row: int | None = None
    epoch: int | None = None
    committed: int = 0
    allocated: int = 0
    protected: int = 0
    prefilled: int = 0
    rounds: int = 0
    evicted: int = 0
    node: Node | None = None
    device: DraftInput | None = None
    ended: str | None = None
    aborting: bool = False
    retracted: bool = False

    @property
    def identity(self) -> Identity:
        """Columns `request`, `row`, `epoch`."""
        return {"request": self.id, "row": self.row, "epoch": self.epoch}

    @property
    def tokens(self) -> list[int]:
        """Prompt and output; the last one has no KV yet while the request decodes."""
        return self.prompt + self.output

    @property
    def text(self) -> list[int]:
        """The output as the client sees it: cut at the stop token and at `max_new_tokens`."""
        output = self.output[: self.max_new_tokens]
        if self.stop_token in output:
            return output[: output.index(self.stop_token) + 1]
        return output

    @property
    def is_done(self) -> bool:
        """The output holds all that the client asked for."""
        return len(self.output) >= self.max_new_tokens or self.stop_token in self.output

    def reset(self) -> None:
        """Forget row, lengths and device state; the output stays."""
        self.row = self.epoch = self.node = self.device = None
        self.committed = self.allocated = self.protected = self.prefilled = 0
        self.rounds = self.evicted = 0
