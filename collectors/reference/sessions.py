"""Streaming sessions: a conversation keeps its row and KV between two requests (SGLang `StreamingSession`)."""

from __future__ import annotations

from dataclasses import dataclass

from speckv_debug.collectors.reference.allocator import PageAllocator
from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.prefix_tree import Node, PrefixTree
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.table import RequestTable
from speckv_debug.kernels.reserve import page_ceil, tail_start


@dataclass(slots=True, kw_only=True)
class Kept:
    """What a session holds between two turns."""

    last: Request
    row: int
    epoch: int
    committed: int
    allocated: int
    protected: int
    evicted: int
    node: Node | None


class Sessions:
    """Keeps rows of ended turns until the next turn, or the session's close."""

    def __init__(
        self, allocator: PageAllocator, tree: PrefixTree, table: RequestTable, observer: Observer
    ) -> None:
        """No session holds anything."""
        self.allocator, self.tree, self.table, self._observer = allocator, tree, table, observer
        self.kept: dict[str, Kept] = {}

    @property
    def held(self) -> int:
        """Slots that sessions hold and the tree does not."""
        page_size = self.allocator.page_size
        return sum(page_ceil(each.allocated, page_size) - each.protected for each in self.kept.values())

    def save(self, request: Request) -> None:
        """End a turn: trim what lies beyond its text, keep the rest."""
        assert request.session is not None and request.row is not None and request.epoch is not None
        self.trim(request, len(request.prompt) + len(request.text) - 1)
        self.kept[request.session] = Kept(
            last=request,
            row=request.row,
            epoch=request.epoch,
            committed=request.committed,
            allocated=request.allocated,
            protected=request.protected,
            evicted=request.evicted,
            node=request.node,
        )
        self._report("session_save", request, request.node)

    def trim(self, request: Request, target: int) -> None:
        """Cut the row to `target` positions and free the pages behind (SGLang `_trim_overshoot`)."""
        start = self.trim_start(target)
        page_size = self.allocator.page_size
        self._observer.emit(
            "release",
            **request.identity,
            kind="session_trim",
            committed=request.committed,
            allocated=request.allocated,
            target=target,
            free_start=start,
            page_size=page_size,
        )
        tail = self.table.slots(request, min(start, request.allocated), request.allocated)
        self.allocator.free(tail, "session_trim", request=request, site="sessions.py:trim")
        self.cut(request, target, start)
        self._observer.emit(
            "lengths",
            **request.identity,
            pool="full",
            committed=request.committed,
            allocated=request.allocated,
            cause="session_trim",
        )

    def cut(self, request: Request, target: int, start: int) -> None:
        """The row ends at `target`, its slots at `start`."""
        request.committed = min(request.committed, target)
        request.allocated = min(request.allocated, start)

    def trim_start(self, target: int) -> int:
        """First position that a trim to `target` gives back."""
        return tail_start(target, self.allocator.page_size)

    def restore(self, request: Request) -> bool:
        """Hand the row and all saved slots to the session's next turn, if there are any."""
        kept = self.kept.pop(request.session, None) if request.session else None
        if kept is None:
            return False
        request.row, request.epoch, request.node = kept.row, kept.epoch, kept.node
        request.committed, request.allocated = kept.committed, kept.allocated
        request.protected, request.prefilled = kept.protected, kept.committed
        request.evicted = kept.evicted
        self._report("session_restore", request, kept.node)
        self._observer.emit(
            "lengths",
            **request.identity,
            pool="full",
            committed=request.committed,
            allocated=request.allocated,
            cause="session_restore",
        )
        return True

    def close_all(self) -> None:
        """End all sessions: their rows and their own slots go back."""
        for name, kept in sorted(self.kept.items()):
            request = Request(id=kept.last.id, prompt=[], max_new_tokens=0, session=name)
            del self.kept[name]
            request.row, request.epoch, request.node = kept.row, kept.epoch, kept.node
            request.committed, request.allocated = kept.committed, kept.allocated
            self._report("session_close", request, kept.node)
            own = self.table.slots(request, kept.protected, kept.allocated)
            self.allocator.free(own, "other", request=request, site="sessions.py:close_all")
            self.tree.unlock(request)
            self.table.free_row(request)

    def _report(self, action: str, request: Request, node: Node | None) -> None:
        self._observer.emit(
            "cache",
            action=action,
            request=request.id,
            node=node and node.id,
            start=0,
            slots=self.table.slots(request, 0, request.allocated),
            pool="full",
        )
