"""Pages of C128 KV (DeepSeek-V4 on NPUs): counted references of sidecar rows and tree nodes, their grants and frees.

`DSV4NPUTokenToKVPoolAllocator` counts who holds a page; a row's pages stand in `req_to_c128_sidecar`. Inside `replace` and
the release of a request the holder is that row; any other reference is the tree's, whose nodes hand pages on as they split.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang.engine import Engine
from speckv_debug.collectors.sglang.requests import NOBODY
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.staging import stage

POOL, TREE = "c128", "tree:0"
ALLOCATES = ("alloc", "alloc_extend")


def counted(engine: Engine) -> dict[str, Any]:
    """The columns of `pool_stat` for C128 KV: entries in free pages, and all; host integers."""
    pages: Any = engine.allocator.c128_attn_allocator
    return {"pool": POOL, "available": int(pages.available_size()), "total": counted_slots(pages)}


def counted_slots(pages: Any) -> int:
    """Entries of whole pages that the allocator of C128 KV can hand out."""
    size = int(pages.page_size)
    return int(pages.size) // size * size


class ReferenceHooks:
    """The allocator's C128 side; nothing where it has none."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._rows: list[int] = []
        self._of_request = False

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield from ()

    def methods(self) -> Iterator[Methods]:
        engine = self._scene.engine
        if not engine.counts_references:
            return
        cls, pages = type(engine.allocator), type(engine.allocator.c128_attn_allocator)
        yield Methods("ref_retain", cls, ("retain_c128_pages",), self.retain, ("page_ids",))
        yield Methods("ref_release", cls, ("release_c128_pages",), self.release, ("page_ids",))
        yield Methods("ref_replace", cls, ("replace_req_c128_prefix",), self.replace, ("req_pool_idx",))
        yield Methods("sidecar_free", type(engine.table), ("_dsv4_free",), self.free_row, ("req",))
        yield Methods("c128_alloc", pages, ALLOCATES, self.alloc)
        yield Methods("c128_free", pages, ("free",), self.free, ("free_index",))

    def retain(self, call: Call) -> Steps:
        """retain_c128_pages(page_ids): one more for each that is named, as often as it is."""
        return self._counted(call, "retain")

    def release(self, call: Call) -> Steps:
        """release_c128_pages(page_ids): one less for each; those that fall to 0 are freed inside."""
        return self._counted(call, "release")

    def _counted(self, call: Call, action: str) -> Steps:
        pages = call["page_ids"].reshape(-1)
        if not pages.numel():
            yield
            return
        named, journal = stage(pages), self._scene.journal
        row = self._rows[-1] if self._rows else None
        with journal.hold() as held:
            yield
            counts = stage(call["self"].c128_page_refcount[pages.long()])
            holder = TREE if row is None else f"row:{row}"
            columns = {"action": action, "holder": holder, "row": row, "count_after": counts}
            journal.lead(held, "page_ref", pool=POOL, pages=named, **columns)

    def replace(self, call: Call) -> Steps:
        """replace_req_c128_prefix(req_pool_idx, page_ids, …): releases what changed, retains it, writes the sidecar row."""
        row, count = int(call["req_pool_idx"]), int(call["page_ids"].numel())
        self._rows.append(row)
        try:
            yield
        finally:
            self._rows.pop()
        self._sidecar(row, count)

    def free_row(self, call: Call) -> Steps:
        """_dsv4_free(req): what the request's sidecar row holds is released, the row zeroed, its state cleared."""
        who = self._scene.rows.identity(call["req"])
        if who.row is None:
            yield
            return
        self._rows.append(who.row)
        outer, self._of_request = self._of_request, True
        try:
            with self._scene.activity.working_on(who):
                yield
        finally:
            self._rows.pop()
            self._of_request = outer
        self._sidecar(who.row, None)

    def _sidecar(self, row: int, count: int | None) -> None:
        """What the sidecar row holds now, up to as many pages."""
        pages = self._scene.engine.table.req_to_c128_sidecar[row, :count]
        if pages.numel():
            epoch = self._scene.rows.epoch(row)
            self._scene.journal.emit(
                "table_write", pool=POOL, row=row, epoch=epoch, start=0, slots=stage(pages)
            )

    def alloc(self, call: Call) -> Steps:
        """The page allocator's alloc_extend(…), for a batch: whose the slots are the sidecar rows tell."""
        granted = yield
        if self._is_c128(call) and granted is not None and granted.numel():
            reason = self._scene.activity.grant.reason
            columns = {"slots": stage(granted), "reason": reason, "granted": True}
            self._scene.journal.emit("alloc", pool=POOL, **NOBODY.columns(), **columns)

    def free(self, call: Call) -> Steps:
        """The page allocator's free(free_index): pages whose last reference went."""
        slots = call["free_index"]
        if self._is_c128(call) and slots.numel():
            activity = self._scene.activity
            who = activity.request if self._of_request else NOBODY
            form = "request" if self._of_request else "index"
            reason = activity.freeings[-1].reason if activity.freeings else "other"
            columns = {"slots": stage(slots), "reason": reason, "form": form}
            self._scene.journal.emit("free", pool=POOL, **who.columns(), **columns)
        yield

    def _is_c128(self, call: Call) -> bool:
        return call["self"] is self._scene.engine.allocator.c128_attn_allocator
