"""What a run of the reference engine is made of; standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from speckv_debug.collectors.reference.compression import C4, C4_RING, C128
from speckv_debug.kernels import reserve


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """Size of the transformer; weights are float64 so that batching never flips an argmax."""

    layers: int = 2
    hidden: int = 32
    heads: int = 2
    vocab: int = 64

    @property
    def head_dim(self) -> int:
        """Numbers a head has in a key or a value."""
        return self.hidden // self.heads


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """Settings of one run, named as the engine's own.

    Attributes:
        seed: Of the weights, the draft's noise and the sampling coins.
        draft_noise: Relative error of the draft model's weights against the target's.
        topk: Branches of the draft tree; 1 is a chain.
        num_steps: Depth of the draft tree.
        num_draft_tokens: `w`, verify rows a request, root included.
        page_size: Slots a page, of the allocator that serves both pools.
        slots: Slots that can be allocated; a multiple of the page size.
        max_running: Requests that decode together, and request rows.
        context_len: Longest prompt plus output.
        max_prefill_tokens: Prompt tokens a prefill batch; a longer prompt is cut into chunks.
        sampling: `rejection` needs topk 1.
        temperature: Of rejection sampling.
        overlap: Results are processed one step after their launch.
        captured: Verify batches are padded to a captured size and use static address buffers.
        row_headroom: Columns of `req_to_token` beyond `context_len`; None for what a reserve may need.
        window: Positions that every second layer of the target attends to, its own included; None for all.
        eviction_interval: Positions that may wait behind the window before their slots are given up.
        compressed: The window's layers also attend to compressed KV (DeepSeek-V4): layer 1 by C128, layer 3 by C4.
        c4_state: Whose the state of the C4 compressor is: that of the window's page (before A5), or the request row's (A5).
        c128_page: Entries a page of C128 KV; the prefix tree keeps whole pages, of 128 positions an entry.
        indexed: Positions that layer 0 attends to, which an indexer chooses; None for all; with `compressed` only.
        recurrent: Layer 2 also has a recurrent state; with `compressed` only.
        drafting: `eagle` writes the states of all verify rows, then clears; `dspark` writes those of accepted rows (a chain).
    """

    seed: int = 0
    draft_noise: float = 0.06
    topk: int = 2
    num_steps: int = 3
    num_draft_tokens: int = 6
    page_size: int = 1
    slots: int = 256
    max_running: int = 4
    context_len: int = 96
    max_prefill_tokens: int = 24
    sampling: Literal["greedy", "rejection"] = "greedy"
    temperature: float = 0.8
    overlap: bool = False
    captured: bool = True
    row_headroom: int | None = None
    window: int | None = None
    eviction_interval: int = 4
    compressed: bool = False
    c4_state: Literal["page", "request"] = "request"
    c128_page: int = 1
    indexed: int | None = None
    recurrent: bool = False
    drafting: Literal["eagle", "dspark"] = "eagle"
    shape: ModelShape = ModelShape()

    def __post_init__(self) -> None:
        """Refuse what the engine can't do."""
        if self.slots % self.page_size:
            raise ValueError(f"slots ({self.slots}) must be a multiple of page_size ({self.page_size})")
        if self.topk == 1 and self.num_draft_tokens != self.num_steps + 1:
            raise ValueError("a chain (topk 1) has num_steps + 1 draft tokens")
        if not self.num_steps < self.num_draft_tokens <= 1 + self.candidates:
            raise ValueError(f"num_draft_tokens must lie in ({self.num_steps}, {1 + self.candidates}]")
        if self.max_prefill_tokens < self.page_size:
            raise ValueError(f"max_prefill_tokens ({self.max_prefill_tokens}) must hold a page")
        if self.window is not None and self.window < 1:
            raise ValueError(f"window ({self.window}) must be 1 or more")
        if self.sampling == "rejection" and self.topk != 1:
            raise ValueError("rejection sampling needs topk 1")
        if self.drafting == "dspark" and (self.topk != 1 or self.sampling != "greedy"):
            raise ValueError("dspark drafts a greedy chain (topk 1)")
        if self.compressed:
            self._refuse_compressed()
        elif self.recurrent or self.indexed:
            raise ValueError("recurrent and indexed need compressed")

    def _refuse_compressed(self) -> None:
        """Sizes at which states and pages of compressed KV can't be addressed."""
        if self.window is None or self.window < C4.window:
            raise ValueError(f"compressed needs a window of {C4.window} or more")
        if self.page_size % C4.ratio or self.page_size > C4_RING:
            raise ValueError(f"compressed needs pages of 4, 8 or {C4_RING} slots")
        if self.shape.layers < 4:
            raise ValueError("compressed needs 4 layers")
        if self.num_draft_tokens > C4_RING - C4.window + 2:
            raise ValueError(f"a C4 ring of {C4_RING} serves {C4_RING - C4.window + 2} verify rows")

    @property
    def tree_page(self) -> int:
        """Positions that the prefix tree keeps or splits together."""
        return C128.ratio * self.c128_page if self.compressed else self.page_size

    @property
    def candidates(self) -> int:
        """Draft tokens that a tree is chosen from."""
        return self.topk + (self.num_steps - 1) * self.topk**2

    @property
    def accept_width(self) -> int:
        """`W`, the width of accept_index."""
        return self.num_steps + 1

    @property
    def reserve(self) -> int:
        """Positions kept beyond the committed length at each decode preparation."""
        return reserve.decode_reserve(
            topk=self.topk,
            num_steps=self.num_steps,
            num_draft_tokens=self.num_draft_tokens,
            page_size=self.page_size,
        )

    @property
    def row_width(self) -> int:
        """Columns of `req_to_token`."""
        room = self.reserve + self.page_size if self.row_headroom is None else self.row_headroom
        return self.context_len + room
