"""The end of a request's hold on its row: finish and abort keep the prefix in the tree, a retract keeps nothing."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from speckv_debug.collectors.reference.allocator import PageAllocator
from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.pool import KVPool
from speckv_debug.collectors.reference.prefix_tree import PrefixTree
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.sessions import Sessions
from speckv_debug.collectors.reference.table import RequestTable
from speckv_debug.kernels.reserve import tail_start

Witness = Callable[[Request, Tensor], None]
"""Told of each request whose hold ends, with its committed KV `[committed, layers, 2, heads, head_dim]`."""


class Releasing:
    """Gives back rows, slots and locks (SGLang `release_kv_cache`)."""

    def __init__(
        self,
        pool: KVPool,
        allocator: PageAllocator,
        tree: PrefixTree,
        table: RequestTable,
        sessions: Sessions,
        observer: Observer,
    ) -> None:
        """Work on the engine's parts."""
        self.pool, self.allocator, self.tree, self.table = pool, allocator, tree, table
        self.sessions, self._observer = sessions, observer
        self.witness: Witness | None = None

    def end(self, request: Request) -> None:
        """A request has ended (`request.ended` says how): its KV goes to its session or to the tree."""
        if self.witness:
            slots = torch.tensor(self.table.slots(request, 0, request.committed))
            self.witness(request, self.pool.content(slots))
        if request.session and not request.last_turn and request.ended == "finish":
            self.sessions.save(request)
        else:
            assert request.ended is not None
            self._announce(request, request.ended)
            self.checkpoint(request)
            self.release(request, request.ended)

    def retract(self, request: Request) -> None:
        """Throw a running request out of its row; it will start again with the output it has."""
        self._announce(request, "retract")
        self.release(request, "retract")
        request.reset()
        request.retracted = True

    def checkpoint(self, request: Request) -> None:
        """Offer the committed prefix to the tree; what the tree had already is freed as a duplicate."""
        own = self.table.slots(request, 0, request.committed)
        _, held = self.tree.insert(request.tokens[: request.committed], own, request)
        duplicates = own[request.protected : held]
        self.allocator.free(duplicates, "duplicate_prefix", request=request, site="releasing.py:checkpoint")
        key_len = len(self.tree.key(request.tokens[: request.committed])) * self.tree.page_size
        request.protected = max(request.protected, key_len)

    def release(self, request: Request, reason: str) -> None:
        """Free what the tree does not own, the reserve, the lock and the row."""
        own = self.table.slots(request, request.protected, request.committed)
        self.allocator.free(own, reason, request=request, site="releasing.py:release")
        self.tree.unlock(request)
        self.free_tail(request)
        if self.tree.states:
            self.tree.states.end_row(request)
        self.table.free_row(request)

    def free_tail(self, request: Request) -> None:
        """Free the pages behind the committed length."""
        start = min(self.tail_start(request), request.allocated)
        tail = self.table.slots(request, start, request.allocated)
        self.allocator.free(tail, "overshoot", request=request, site="releasing.py:free_tail")

    def tail_start(self, request: Request) -> int:
        """First position that the tail free gives back."""
        return tail_start(request.committed, self.allocator.page_size)

    def _announce(self, request: Request, kind: str) -> None:
        self._observer.emit(
            "release",
            **request.identity,
            kind=kind,
            committed=request.committed,
            allocated=request.allocated,
            free_start=self.tail_start(request),
            page_size=self.allocator.page_size,
        )
