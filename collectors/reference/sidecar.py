"""Pages of compressed KV (C128): each request row names its own in a sidecar row, and the prefix tree shares them by counts.

As SGLang's NPU allocator has it (`DSV4NPUTokenToKVPoolAllocator`, `DSV4NPUReqToTokenPool`): a page goes back with its last
reference, whatever a verify accepts.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from speckv_debug.collectors.reference.compression import C128
from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.request import Request

POOL = "c128"


class Sidecar:
    """Pages, their counts, and `req_to_c128_sidecar`; page 0 is a pad, and 0 names no page."""

    def __init__(self, pages: int, page_size: int, rows: int, columns: int, observer: Observer) -> None:
        """All pages are free, all rows empty; a page given back last is handed out first."""
        self.page_size, self._observer = page_size, observer
        self.free_pages = list(range(pages, 0, -1))
        self.counts = [0] * (pages + 1)
        self.table = torch.zeros(rows, columns, dtype=torch.int64)

    def sizes(self) -> tuple[int, int]:
        """Slots that are free, and all."""
        return len(self.free_pages) * self.page_size, (len(self.counts) - 1) * self.page_size

    def slots(self, rows: Tensor, groups: Tensor) -> Tensor:
        """Where the entries of groups of 128 positions lie, for request rows of the same shape."""
        return self.table[rows, groups // self.page_size] * self.page_size + groups % self.page_size

    def pages(self, request: Request, count: int) -> list[int]:
        """The first `count` pages of a request's row."""
        assert request.row is not None
        pages: list[int] = self.table[request.row, :count].tolist()
        return pages

    def grow(self, request: Request, have: int, end: int, reason: str) -> None:
        """Pages for the entries that positions `[have, end)` complete (SGLang `_alloc_c_extend`, `write_c128`)."""
        first, last = have // C128.ratio, end // C128.ratio
        columns = range(-(-first // self.page_size), -(-last // self.page_size))
        taken = [self.free_pages.pop() for _ in columns]
        known = self.pages(request, columns.start)
        slots = [
            (known + taken)[group // self.page_size] * self.page_size + group % self.page_size
            for group in range(first, last)
        ]
        if slots:
            who = request.identity
            site = "sidecar.py:grow"
            self._observer.emit(
                "alloc", pool=POOL, slots=slots, reason=reason, site=site, granted=True, **who
            )
        if taken:
            self.replace(request, known + taken)

    def replace(self, request: Request, pages: Sequence[int]) -> None:
        """Let a row name `pages` from its first column on (SGLang `replace_req_c128_prefix`)."""
        old = self.pages(request, len(pages))
        changed = [at for at, page in enumerate(pages) if page != old[at]]
        if not changed:
            return
        holder = f"row:{request.row}"
        self.release([old[at] for at in changed], holder, request)
        self.retain([pages[at] for at in changed], holder, request)
        self.name(request, changed[0], pages[changed[0] :])

    def name(self, request: Request, start: int, pages: Sequence[int]) -> None:
        """Write page ids into a row."""
        assert request.row is not None
        self.table[request.row, start : start + len(pages)] = torch.tensor(list(pages))
        self._observer.emit(
            "table_write", pool=POOL, row=request.row, epoch=request.epoch, start=start, slots=list(pages)
        )

    def end_row(self, request: Request) -> None:
        """Give up a row's references and zero it, before someone else gets the row."""
        assert request.row is not None
        pages: list[int] = self.table[request.row].tolist()
        used = len(pages) - next((at for at, page in enumerate(reversed(pages)) if page), len(pages))
        self.release(pages[:used], f"row:{request.row}", request)
        self.zero(request, used)

    def zero(self, request: Request, used: int) -> None:
        """Empty the first `used` columns of a row."""
        if used:
            self.name(request, 0, [0] * used)

    def retain(self, pages: Sequence[int], holder: str, request: Request | None = None) -> None:
        """One reference more to each page."""
        for page in pages:
            self.counts[page] += 1
        self._report("retain", pages, holder, request)

    def release(self, pages: Sequence[int], holder: str, request: Request | None = None) -> None:
        """One reference less to each page; one that has none left goes back."""
        named = sorted({page for page in pages if page > 0})
        if not named:
            return
        for page in named:
            self.counts[page] -= 1
        self._report("release", named, holder, request)
        self.give_back([page for page in named if self.counts[page] == 0], request)

    def give_back(self, pages: Sequence[int], request: Request | None) -> None:
        """Pages go to the free list."""
        if not pages:
            return
        self.free_pages.extend(pages)
        who = request.identity if request else {"request": None, "row": None, "epoch": None}
        self._observer.emit(
            "free",
            pool=POOL,
            slots=[page * self.page_size for page in pages],
            reason="other",
            group=None,
            site="sidecar.py:release",
            form="request" if request else "index",
            **who,
        )

    def _report(self, action: str, pages: Sequence[int], holder: str, request: Request | None) -> None:
        self._observer.emit(
            "page_ref",
            pool=POOL,
            action=action,
            pages=list(pages),
            holder=holder,
            row=request.row if request else None,
            count_after=[self.counts[page] for page in pages],
        )
