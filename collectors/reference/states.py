"""All that the engine keeps beside keys and values: compressed KV, compressor states, recurrent state."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from speckv_debug.collectors.reference.batch import Round
from speckv_debug.collectors.reference.compressed import CompressedLayer
from speckv_debug.collectors.reference.compression import C4, C4_RING, C128, C128_RING
from speckv_debug.collectors.reference.compressor import (
    C4_LAYER,
    C128_LAYER,
    RECURRENT_LAYER,
    SideWeights,
)
from speckv_debug.collectors.reference.config import EngineConfig
from speckv_debug.collectors.reference.indexer import IndexPool
from speckv_debug.collectors.reference.model import Addresses, Entries
from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.recurrent import RecurrentLayer
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.rings import PageRing, RequestRing, StateRing
from speckv_debug.collectors.reference.sidecar import Sidecar
from speckv_debug.collectors.reference.table import RequestTable
from speckv_debug.collectors.reference.window import HybridPool, WindowPeers
from speckv_debug.kernels.state import commit_steps

TAIL = C4.window - C4.ratio
"""Positions before a group that its C4 entry is made of too: what a prefix has to bring along."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What the prefix tree keeps of one of its pages: the page of C128 KV, and the state behind its last position.

    Attributes:
        page: Of C128 KV, counted for the tree.
        recurrent: `[hidden]`, None where there is no recurrent layer.
        tail: `[4, width]` C4 states of the last positions, None where they lie in the window's pages.
    """

    page: int
    recurrent: Tensor | None
    tail: Tensor | None


class States:
    """Tells the engine's parts what to do at the turns of a request's life."""

    def __init__(
        self,
        config: EngineConfig,
        weights: SideWeights,
        table: RequestTable,
        peers: WindowPeers,
        observer: Observer,
    ) -> None:
        """Nothing is held."""
        self.config, self._table = config, table
        c4, c128, rows = weights.c4, weights.c128, table.rows
        by_prefix = config.drafting == "dspark"
        paged = config.c4_state == "page"
        pages = (config.slots + config.page_size) // config.page_size
        where = PageRing(table, peers) if paged else RequestRing(C4_RING)
        ring = StateRing(C4.state, pages if paged else rows, c4.width, where, observer)
        slots = config.slots + config.page_size
        self.c4 = CompressedLayer(c4, ring, slots // C4.ratio, self._c4_slots, by_prefix=by_prefix)
        columns = config.row_width // config.tree_page + 1
        count = config.slots // config.tree_page + rows
        self.sidecar = Sidecar(count, config.c128_page, rows, columns, observer)
        ring = StateRing(C128.state, rows, c128.width, RequestRing(C128_RING), observer)
        entries = (count + 1) * config.c128_page
        self.c128 = CompressedLayer(c128, ring, entries, self.sidecar.slots, by_prefix=by_prefix)
        self.recurrent = (
            RecurrentLayer(weights.recurrence, rows, c4.hidden, observer) if weights.recurrence else None
        )
        self._behind: dict[str, dict[int, Kept]] = {}

    def _c4_slots(self, rows: Tensor, groups: Tensor) -> Tensor:
        """C4 entries lie by the full slot of the position that completes the group."""
        last = groups * C4.ratio + C4.ratio - 1
        return self._table.memory[rows * self._table.width + last] // C4.ratio

    # ---- forwards ---------------------------------------------------------------------------------

    def beside(self, layer: int, x: Tensor, where: Addresses) -> Entries | None:
        """What a layer of the target attends to beside keys and values."""
        if layer == RECURRENT_LAYER:
            return self.recurrent.look(x, where) if self.recurrent else None
        found = {C4_LAYER: self.c4, C128_LAYER: self.c128}.get(layer)
        return found.look(x, where) if found else None

    def report(self, requests: list[Request]) -> None:
        """Events of the last forward."""
        for layer in (self.c4, self.c128):
            layer.report(requests)

    def extended(self, request: Request, end: int) -> None:
        """A prefill has computed positions up to `end`."""
        self._keep_behind(request, end - 1)

    def settle(self, round_: Round, index: Tensor, lens: Tensor) -> None:
        """A verify has accepted flat rows `index` `[bs, W]`, `lens` `[bs]` of them."""
        width = self.config.num_draft_tokens
        paths = [
            [row - i * width for row in rows[:n]]
            for i, (rows, n) in enumerate(zip(index.tolist(), lens.tolist(), strict=True))
        ]
        if self.recurrent:
            self.recurrent.settle(round_, self.kept_steps(index, lens))
        for layer in (self.c4, self.c128):
            layer.settle(round_, paths)
        if not self.c128.by_prefix:
            self.clear(round_, lens.tolist())
        for start, request, path in zip(round_.starts, round_.requests, paths, strict=True):
            for k in range(len(path)):
                if (start + k + 1) % self.config.tree_page == 0:
                    self._keep_behind(request, start + k, i=round_.requests.index(request), row=path[k])

    def kept_steps(self, index: Tensor, lens: Tensor) -> list[int]:
        """Local row whose recurrent state each request keeps."""
        steps: list[int] = commit_steps(index, lens, self.config.num_draft_tokens).tolist()
        return steps

    def clear(self, round_: Round, lens: list[int]) -> None:
        """Empty what rejected drafts left in the rings of C128."""
        width = self.config.num_draft_tokens
        for request, start, n in zip(round_.requests, round_.starts, lens, strict=True):
            self.c128.clear(request, start, self.rejected(n), accept_len=n, width=width)

    def rejected(self, accept_len: int) -> range:
        """Offsets in the verify window that are to be cleared: the root is row 0, so that rows are counted."""
        return range(accept_len, self.config.num_draft_tokens)

    # ---- lives ------------------------------------------------------------------------------------

    def begin_row(self, request: Request, kept: list[Kept]) -> None:
        """A request has got its row, with the prefix of which the tree has kept this."""
        self._behind[request.id] = {}
        last = kept[-1] if kept else None
        if self.recurrent:
            self.recurrent.begin_row(request, last.recurrent if last else None)
        if not kept:
            return
        assert last is not None
        self.sidecar.replace(request, [each.page for each in kept])
        if last.tail is not None:
            self.c4.commit(request, len(kept) * self.config.tree_page - TAIL, last.tail)

    def grow(self, request: Request, have: int, end: int, reason: str) -> None:
        """The request's slots reach up to `end`."""
        self.sidecar.grow(request, have, end, reason)

    def share(self, request: Request, kept: list[Kept]) -> None:
        """The tree has these pages of the request's prefix: its row names them from now on."""
        self.sidecar.replace(request, [each.page for each in kept])

    def end_row(self, request: Request) -> None:
        """A request gives its row back."""
        self.sidecar.end_row(request)
        self.c128.end_row(request)
        if isinstance(self.c4.ring.address, RequestRing):
            self.c4.end_row(request)
        self._behind.pop(request.id, None)

    def _keep_behind(self, request: Request, last: int, *, i: int = 0, row: int = -1) -> None:
        """Remember the state behind position `last`, if a page of the tree ends there; `i` and `row` say whose it is."""
        if (last + 1) % self.config.tree_page:
            return
        tail = None
        if isinstance(self.c4.ring.address, RequestRing):
            cells = torch.arange(last - TAIL + 1, last + 1)
            tail = self.c4.ring.read(torch.full_like(cells, request.row or 0), cells)
        state = None
        if self.recurrent:
            assert self.recurrent.looked is not None
            state = self.recurrent.looked[i, row].clone()
        number = last // self.config.tree_page
        self._behind[request.id][number] = Kept(page=0, recurrent=state, tail=tail)

    # ---- what the tree keeps ----------------------------------------------------------------------

    def offered(self, request: Request, first: int, count: int) -> list[Kept]:
        """What the tree gets of a request with its pages `[first, first + count)`."""
        pages = self.sidecar.pages(request, first + count)
        found = self._behind[request.id]
        return [
            Kept(page=pages[at], recurrent=found[at].recurrent, tail=found[at].tail)
            for at in range(first, first + count)
        ]

    def attach(self, node: int, kept: list[Kept]) -> None:
        """A node of the tree holds these from now on."""
        self.sidecar.retain([each.page for each in kept], f"tree:{node}")

    def detach(self, node: int, kept: list[Kept]) -> None:
        """A node gives up its hold."""
        self.sidecar.release([each.page for each in kept], f"tree:{node}")


class StatefulPool(HybridPool):
    """A pool with compressed KV and states beside it."""

    states: States
    index_pool: IndexPool | None = None

    def beside(self, layer: int, x: Tensor, where: Addresses) -> Entries | None:
        """What they have for a layer."""
        return self.states.beside(layer, x, where)
