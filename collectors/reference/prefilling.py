"""Admission and prefill: which waiting requests get a row, how much of their prompts is computed at once."""

from __future__ import annotations

from speckv_debug.collectors.reference.allocator import PageAllocator
from speckv_debug.collectors.reference.batch import Batch, Chunk
from speckv_debug.collectors.reference.compression import C128
from speckv_debug.collectors.reference.config import EngineConfig
from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.prefix_tree import Node, PrefixTree
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.sessions import Sessions
from speckv_debug.collectors.reference.table import RequestTable
from speckv_debug.kernels.reserve import page_floor, pages_between


class Prefilling:
    """Forms prefill batches within the token budget, and keeps computed prefixes in the tree."""

    def __init__(
        self,
        config: EngineConfig,
        allocator: PageAllocator,
        tree: PrefixTree,
        table: RequestTable,
        sessions: Sessions,
        observer: Observer,
    ) -> None:
        """Nobody waits."""
        self.config, self.allocator, self.tree, self.table = config, allocator, tree, table
        self.sessions, self._observer = sessions, observer
        self.waiting: list[Request] = []
        self.chunked: Request | None = None

    def batch(self, running: int) -> Batch | None:
        """The next prefill batch beside `running` decoding requests, or None."""
        budget, chunks = self.config.max_prefill_tokens, list[Chunk]()
        if self.chunked:
            self.keep(self.chunked)
            chunks.append(self._chunk(self.chunked, budget))
            self._allocate(chunks[0], [])
            budget -= chunks[0].end - chunks[0].start
            self.chunked = None if chunks[0].last else self.chunked
        while self.waiting and not self.chunked and running + len(chunks) < self.config.max_running:
            chunk = self._admit(self.waiting[0], budget)
            if chunk is None:
                break
            chunks.append(chunk)
            budget -= chunk.end - chunk.start
            self.chunked = None if chunk.last else chunk.request
        if not chunks:
            return None
        return Batch(kind="prefill", requests=[chunk.request for chunk in chunks], chunks=chunks)

    def keep(self, request: Request) -> None:
        """Let the tree own the computed prefix; the row then names the tree's slots (`cache_unfinished_req`).

        A session's KV stays its own until the session ends.
        """
        if request.session:
            return
        tokens = request.tokens[: request.committed]
        own = self.table.slots(request, 0, request.committed)
        _, held = self.tree.insert(tokens, own, request)
        self.allocator.free(
            own[request.protected : held], "duplicate_prefix", request=request, site="prefilling.py:keep"
        )
        node, slots = self.tree.match(tokens, request)
        self.table.write(request, request.protected, slots[request.protected :])
        self.tree.unlock(request)
        self.tree.lock(node, request)
        request.protected = len(slots)
        if self.tree.states:
            self.tree.states.share(request, self.tree.kept_of(node))

    def _admit(self, request: Request, budget: int) -> Chunk | None:
        """Give the request a row if its whole prompt and a first reserve fit, and form its first chunk."""
        kept = self.sessions.kept.get(request.session or "")
        if not kept and not self.table.free_rows:
            return None
        node, slots = (kept.node, []) if kept else self.tree.match(request.tokens, request)
        request.prefilled = kept.committed if kept else len(slots)
        chunk = self._chunk(request, budget)
        if chunk.start == chunk.end or not self._fits(request, kept.allocated if kept else len(slots), node):
            return None
        self._seat(request, node, slots)
        self._allocate(chunk, slots)
        return chunk

    def _seat(self, request: Request, node: Node | None, slots: list[int]) -> None:
        self.waiting.remove(request)
        request.retracted = False
        if not self.sessions.restore(request):
            assert node is not None
            self.tree.lock(node, request)
            request.protected = request.allocated = len(slots)
            self.table.take_row(request)
            if self.tree.states:
                self.tree.states.begin_row(request, self.tree.kept_of(node))

    def _chunk(self, request: Request, budget: int) -> Chunk:
        """As much of the prompt as the budget allows, cut at a page if it does not end.

        Compressed KV is computed one group of C128 at a time.
        """
        start, end = request.prefilled, len(request.tokens)
        if self.config.compressed:
            budget = min(budget, page_floor(start, C128.ratio) + C128.ratio - start)
        if end - start > budget:
            end = max(start, page_floor(start + budget, self.config.page_size))
            return Chunk(request=request, start=start, end=end, last=False)
        return Chunk(request=request, start=start, end=end, last=True)

    def _fits(self, request: Request, have: int, node: Node | None) -> bool:
        length = len(request.tokens) + self.config.reserve
        need = pages_between(have, length, self.config.page_size) * self.config.page_size
        return need <= self.allocator.available + self.tree.evictable_beside(node)

    def _allocate(self, chunk: Chunk, prefix: list[int]) -> None:
        """Slots for a chunk, evicting what it takes (SGLang `alloc_for_extend`); `prefix` is new in the row."""
        request, page_size = chunk.request, self.config.page_size
        have, end = request.allocated, max(request.allocated, chunk.end)
        self.tree.make_room(pages_between(have, end, page_size) * page_size)
        last = None if prefix or not have else self.table.slots(request, have - 1, have)[0]
        slots = self.allocator.extend(request, last, have, end, "extend")
        self.table.write(request, have - len(prefix), prefix + slots)
        if self.tree.states:
            self.tree.states.grow(request, have, end, "extend")
        request.prefilled = request.committed = chunk.end
        request.allocated = end
        self._observer.emit(
            "lengths",
            **request.identity,
            pool="full",
            committed=chunk.end,
            allocated=end,
            cause="extend",
        )
