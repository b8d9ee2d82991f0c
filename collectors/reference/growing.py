"""Before each verify round every running request gets room for two rounds; what does not fit is retracted."""

from __future__ import annotations

from speckv_debug.collectors.reference.allocator import PageAllocator
from speckv_debug.collectors.reference.config import EngineConfig
from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.prefix_tree import PrefixTree
from speckv_debug.collectors.reference.releasing import Releasing
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.table import RequestTable
from speckv_debug.kernels.reserve import grown_length, page_ceil, page_floor, pages_between


class Growing:
    """Page-aligned growth of allocated lengths (SGLang `eagle_prepare_for_decode`)."""

    def __init__(
        self,
        config: EngineConfig,
        allocator: PageAllocator,
        tree: PrefixTree,
        table: RequestTable,
        releasing: Releasing,
        observer: Observer,
    ) -> None:
        """Work on the engine's parts."""
        self.config, self.allocator, self.tree, self.table = config, allocator, tree, table
        self.releasing, self._observer = releasing, observer

    def grow(self, running: list[Request]) -> list[Request]:
        """Make room for a round; returns the requests that had to be retracted, already out of `running`."""
        retracted = self._retract_until_it_fits(running)
        for request in running:
            if self.config.window and request.rounds:
                self.evict(request)
            request.rounds += 1
        lengths = [self.new_length(request) for request in running]
        for request, length in zip(running, lengths, strict=True):
            self._report_reserve(request, length)
        for request, length in zip(running, lengths, strict=True):
            if grows := length > request.allocated:
                self._extend(request, length)
            if grows or self.config.window:
                self._report_lengths(request)
        return retracted

    def evict(self, request: Request) -> None:
        """Give up the slots of the window layers behind the window, once an interval of them waits.

        Slots of the tree's prefix stay. The first round evicts nothing: under overlap the result of the prefill has
        not been processed (SGLang `maybe_evict_swa`).
        """
        peers, end = self.allocator.peers, self.evictable_end(request)
        if peers is None or end < request.evicted + self.config.eviction_interval:
            return
        first = max(request.evicted, page_ceil(request.protected, self.allocator.page_size))
        if gone := self.table.slots(request, min(first, end), end):
            peers.give_back(gone, "swa_window", request=request, group=None, site="growing.py:evict")
        request.evicted = end

    def evictable_end(self, request: Request) -> int:
        """`page_floor(committed - window)`; a session's trim may cut what two rounds have committed."""
        surplus = 2 * self.config.num_draft_tokens if request.session else 0
        end = request.committed - (self.config.window or 0) - surplus
        return max(0, page_floor(end, self.allocator.page_size))

    def new_length(self, request: Request) -> int:
        """Allocated length that the request gets: `max(K, ceil(C + reserve))`."""
        return grown_length(
            request.allocated, request.committed, self.config.reserve, self.allocator.page_size
        )

    def _retract_until_it_fits(self, running: list[Request]) -> list[Request]:
        retracted: list[Request] = []
        while (need := self._needed(running)) > self.allocator.available:
            self.tree.make_room(need)
            if need <= self.allocator.available:
                break
            if len(running) == 1:
                raise RuntimeError(f"pool too small: {running[0].id} alone needs {need} more slots")
            victim = min(reversed(running), key=lambda request: len(request.output))
            running.remove(victim)
            self.releasing.retract(victim)
            retracted.append(victim)
        return retracted

    def _needed(self, running: list[Request]) -> int:
        page_size, reserve = self.allocator.page_size, self.config.reserve
        lengths = ((r.allocated, r.committed + reserve) for r in running)
        return sum(pages_between(have, length, page_size) * page_size for have, length in lengths)

    def _extend(self, request: Request, length: int) -> None:
        have = request.allocated
        last = self.table.slots(request, have - 1, have)[0]
        slots = self.allocator.extend(request, last, have, length, "spec_reserve")
        self.table.write(request, have, slots)
        if self.tree.states:
            self.tree.states.grow(request, have, length, "spec_reserve")
        request.allocated = length

    def _report_lengths(self, request: Request) -> None:
        self._observer.emit(
            "lengths",
            **request.identity,
            pool="full",
            committed=request.committed,
            allocated=request.allocated,
            cause="spec_prepare",
            swa_evicted=request.evicted if self.config.window else None,
        )

    def _report_reserve(self, request: Request, length: int) -> None:
        self._observer.emit(
            "reserve",
            **request.identity,
            committed=request.committed,
            allocated=request.allocated,
            reserve=self.config.reserve,
            page_size=self.allocator.page_size,
            new_allocated=length,
        )
