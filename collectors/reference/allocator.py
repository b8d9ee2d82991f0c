"""Who may use which slot: a page allocator with deferred free groups (SGLang's token and paged allocators)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.window import WindowPeers
from speckv_debug.kernels.reserve import pages_between
from speckv_debug.model.text import quantity


class PageAllocator:
    """Hands out the slots of pages `[1, slots / page_size]`; page 0 is padding.

    A freed slot returns its whole page. A double free is accepted without a word, as by the engine's.
    """

    def __init__(
        self, slots: int, page_size: int, observer: Observer, peers: WindowPeers | None = None
    ) -> None:
        """All pages are free; a slot has a peer in a sliding-window pool, if there is one, as long as it is granted."""
        self.slots, self.page_size, self._observer, self.peers = slots, page_size, observer, peers
        self.free_pages = list(range(1, slots // page_size + 1))
        self._groups = 0
        self._group: list[int] | None = None

    @property
    def available(self) -> int:
        """Slots in free pages."""
        return len(self.free_pages) * self.page_size

    def extend(self, request: Request, last: int | None, start: int, end: int, reason: str) -> list[int]:
        """Grant slots for positions `[start, end)`, the rest of the request's own last page first.

        Args:
            request: Who gets them.
            last: The slot of position `start - 1`, where the request's own last page may go on.
            start: Allocated length so far.
            end: Allocated length afterwards.
            reason: Of the contract: `extend` or `spec_reserve`.

        Returns:
            The granted slots; the caller has made sure that there are enough.
        """
        pages = pages_between(start, end, self.page_size)
        if pages > len(self.free_pages):
            self._report_alloc(request, [], reason, granted=False)
            raise RuntimeError(f"out of memory: {request.id} needs {quantity(pages, 'page')}")
        taken, self.free_pages = self.free_pages[:pages], self.free_pages[pages:]
        slots = [page * self.page_size + offset for page in taken for offset in range(self.page_size)]
        if start % self.page_size and last is not None:
            slots = list(range(last + 1, (last // self.page_size + 1) * self.page_size)) + slots
        slots = slots[: end - start]
        if slots:
            self._report_alloc(request, slots, reason, granted=True)
            if self.peers:
                self.peers.grant(slots, request, reason)
        return slots

    def free(self, slots: Sequence[int], reason: str, *, request: Request | None = None, site: str) -> None:
        """Give back the pages of `slots`, at once or at the end of the open group."""
        if not slots:
            return
        who = request.identity if request else {"request": None, "row": None, "epoch": None}
        group = None if self._group is None else self._groups
        self._observer.emit(
            "free", pool="full", slots=list(slots), reason=reason, group=group, site=site, form="index", **who
        )
        if self.peers:
            self.peers.give_back(slots, reason, request=request, group=group, site=site)
        if self._group is None:
            self._return(slots)
        else:
            self._group.extend(slots)

    @contextmanager
    def free_group(self) -> Iterator[None]:
        """Frees inside take effect together at the end."""
        self._groups += 1
        self._group = []
        self._observer.emit("free_group", action="begin", group=self._groups)
        yield
        self._observer.emit("free_group", action="end", group=self._groups)
        queued, self._group = self._group, None
        self._return(queued)
        if self.peers:
            self.peers.settle()

    def _return(self, slots: Sequence[int]) -> None:
        if self.page_size == 1:
            self.free_pages.extend(slots)
        else:
            self.free_pages[:0] = sorted({slot // self.page_size for slot in slots})

    def _report_alloc(self, request: Request, slots: list[int], reason: str, *, granted: bool) -> None:
        self._observer.emit(
            "alloc",
            pool="full",
            slots=slots,
            reason=reason,
            site="allocator.py:extend",
            granted=granted,
            **request.identity,
        )
