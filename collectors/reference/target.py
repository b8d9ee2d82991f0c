"""The target model's forwards: prompt chunks, draft trees, dummy rounds. Each writes and reads the paged pool."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from speckv_debug.collectors.reference.addressing import block_addresses, causal, reach
from speckv_debug.collectors.reference.batch import Chunk, Round, VerifyInput
from speckv_debug.collectors.reference.model import Transformer
from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.pool import KVPool
from speckv_debug.collectors.reference.request import Identity
from speckv_debug.collectors.reference.states import StatefulPool
from speckv_debug.collectors.reference.table import RequestTable
from speckv_debug.collectors.reference.window import GROUP, HybridPool

PADDING: Identity = {"request": None, "row": 0, "epoch": None}


class Target:
    """Runs the target on its pool and reports what was written."""

    def __init__(self, model: Transformer, pool: KVPool, table: RequestTable, observer: Observer) -> None:
        """Write to `pool` at slots that `table` names."""
        self.model, self.pool, self.table, self._observer = model, pool, table, observer
        self.states = pool.states if isinstance(pool, StatefulPool) else None
        self.index_pool = pool.index_pool if isinstance(pool, StatefulPool) else None
        self._window = pool if isinstance(pool, HybridPool) else None

    def extend(self, chunk: Chunk) -> tuple[Tensor, Tensor]:
        """Compute a chunk of a prompt: features `[1, n, hidden]` and logits `[vocab]` of its last position."""
        row, start = torch.tensor([chunk.request.row]), torch.tensor([chunk.start])
        size = chunk.end - chunk.start
        slots = self.table.window(row, start, size)
        positions = torch.arange(chunk.start, chunk.end)[None]
        tokens = torch.tensor([chunk.request.tokens[chunk.start : chunk.end]])
        where = block_addresses(self.table, row, start, positions, slots, causal(1, size), settled=True)
        features = self.model.forward(self.model.embed(tokens), where, self.pool)
        chunk.peers = self._peers(1)[0]
        if self.states:
            self.states.report([chunk.request])
            self.states.extended(chunk.request, chunk.end)
        return features, self.model.logits(features[0, -1])

    def report_extend(self, chunk: Chunk, next_token: int | None) -> None:
        """Report a chunk with the token that was sampled behind it."""
        slots = self.table.slots(chunk.request, chunk.start, chunk.end)
        self._report(
            "extend",
            chunk.request.identity,
            chunk.start,
            slots,
            chunk.request.tokens[chunk.start : chunk.end],
            list(range(chunk.start, chunk.end)),
            chunk.end,
            chunk.peers,
            next_token=next_token,
        )

    def verify(self, round_: Round, draft: VerifyInput, out_cache_loc: Tensor, prefixes: Tensor) -> Tensor:
        """Features `[bs, w, hidden]` of the draft trees, written to `out_cache_loc` `[padded bs, w]`.

        `prefixes` `[padded bs]` are the lengths that attention reads in front of each window.
        """
        width, size = out_cache_loc.shape[1], round_.size
        padding = len(out_cache_loc) - size
        where = block_addresses(
            self.table,
            _padded(round_.rows, padding),
            prefixes,
            torch.cat((draft.positions, torch.arange(width).expand(padding, -1))),
            out_cache_loc,
            torch.cat((draft.sees, causal(padding, width))),
        )
        features = self.model.forward(self.model.embed(_padded(draft.tokens, padding)), where, self.pool)
        ends, peers = reach(where), self._peers(len(out_cache_loc))
        for i, request in enumerate(round_.requests):
            start = round_.inputs[i].seq_len
            block = (out_cache_loc[i].tolist(), draft.tokens[i].tolist(), draft.positions[i].tolist())
            self._report("target_verify", request.identity, start, *block, ends[i], peers[i])
        for slots, theirs in zip(out_cache_loc[size:].tolist(), peers[size:], strict=True):
            self._report_padding("target_verify", slots, theirs)
        if self.states:
            self.states.report(round_.requests)
        return features[:size]

    def idle(self, width: int) -> None:
        """A dummy round, as an idle rank runs it: it may write to slot 0 only."""
        nothing = torch.zeros(1, dtype=torch.int64)
        slots = torch.zeros(1, width, dtype=torch.int64)
        where = block_addresses(
            self.table, nothing, nothing, torch.arange(width)[None], slots, causal(1, width)
        )
        self.model.forward(self.model.embed(slots), where, self.pool)
        self._report_padding("idle", slots[0].tolist(), self._peers(1)[0])

    def _peers(self, rows: int) -> list[list[int] | None]:
        """Slots of the window's pool that the last forward of `rows` requests has written; None without a window."""
        if self._window is None:
            return [None] * rows
        written: list[list[int] | None] = self._window.written.view(rows, -1).tolist()
        return written

    def _report_padding(self, mode: str, slots: list[int], peers: list[int] | None) -> None:
        width = len(slots)
        self._report(mode, PADDING, 0, slots, [0] * width, list(range(width)), width, peers, padded=True)

    def _report(
        self,
        mode: str,
        who: Identity,
        start: int,
        slots: list[int],
        tokens: list[int],
        positions: list[int],
        read_len: int,
        peers: list[int] | None,
        *,
        padded: bool = False,
        next_token: int | None = None,
    ) -> None:
        """One event for the layers with all positions, and one for those of the sliding window."""
        same: dict[str, Any] = {
            "mode": mode,
            "start": start,
            "tokens": tokens,
            "positions": positions,
            "read_len": read_len,
        }
        same |= {"padded": padded, **who}
        self._observer.emit("forward", pool=self.pool.name, slots=slots, next_token=next_token, **same)
        if peers is not None:
            self._observer.emit("forward", pool=GROUP, group=GROUP, slots=peers, **same)


def _padded(x: Tensor, rows: int) -> Tensor:
    return torch.cat((x, x.new_zeros(rows, *x.shape[1:])))
