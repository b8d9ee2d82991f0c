"""Slots granted and freed: the allocator's calls, whose they are, why, and the deferred free groups."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from speckv_debug.collectors.around import Around
from speckv_debug.collectors.calls import Call, call_site
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.activity import Grant
from speckv_debug.collectors.sglang.levels import DETAILED
from speckv_debug.collectors.sglang.requests import NOBODY, Batch, Identity
from speckv_debug.collectors.sglang.scene import Scene, tensor_like
from speckv_debug.collectors.sglang.swa import record_pages_peers, record_peers
from speckv_debug.collectors.staging import Derived, Staged, stage
from speckv_debug.recording.blocks import Cut

PEERS = ("full_indices", "swa_indices")


class PageHooks:
    """The scheduler's allocator; calls of an allocator inside it are its own affair."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._inside: set[str] = set()
        self._groups = 0
        self._group: int | None = None
        self._given_up = 0
        self._queued: list[Any] = []
        self._maps = scene.engine.has_window and scene.level >= DETAILED
        self._writes_past = self._maps and not hasattr(scene.engine.allocator, targets.CLEARS_PEERS[0])
        self._full = scene.engine.full_side

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield from ()

    def methods(self) -> Iterator[Methods]:
        cls = type(self._scene.engine.allocator)
        allocate = Around(self.allocating, self.allocated, self.left)
        yield Methods("allocate", cls, targets.ALLOCATES, allocate)
        yield Methods("free", cls, targets.FREES, self.free, ("free_index",))
        yield Methods("free_full", cls, targets.FREES_FULL, self.free_full, ("free_index",), optional=True)
        if self._full is not None:
            full = type(self._full)
            yield Methods("free_inner", full, targets.FREES, self.free_inner, ("free_index",))
        if self._scene.engine.has_window:
            yield Methods("free_swa", cls, targets.FREES_PEERS, self.free_peers, ("free_index",))
            yield Methods("swa_set", cls, targets.SETS_PEERS, self.set_peers, PEERS)
            yield Methods("swa_clear", cls, targets.CLEARS_PEERS, self.clear_peers, PEERS[:1])
        yield Methods("free_pages", cls, targets.FREES_PAGES, self.free_pages, ("page_ids",), optional=True)
        begin = Around(partial(self._enter, ("group",)), self.group_begun, self.left, takes="self")
        end = Around(partial(self._enter, ("group", "free")), self.group_ended, self.left, takes="self")
        yield Methods("group_begin", cls, targets.GROUP_BEGINS, begin)
        yield Methods("group_end", cls, targets.GROUP_ENDS, end)
        yield Methods("clear", cls, targets.CLEARS, self.clear)

    def _enter(self, families: tuple[str, ...], allocator: Any) -> tuple[str, ...] | None:
        """What to leave again; None if this is not the engine's own call of the scheduler's allocator."""
        if allocator is not self._scene.engine.allocator or families[0] in self._inside:
            return None
        self._inside.update(families)
        return families

    def left(self, families: tuple[str, ...] | None) -> None:
        """The call is over."""
        if families is not None:
            self._inside.difference_update(families)

    def allocating(self, call: Call) -> tuple[str, ...] | None:
        """alloc, alloc_extend, alloc_decode."""
        return self._enter(("alloc",), call["self"])

    def allocated(self, families: tuple[str, ...] | None, granted: Any) -> None:
        """The result is a view of the free list, so it is copied at once."""
        if families is None:
            return
        self.left(families)
        slots = getattr(granted, "out_full_loc", granted)
        grant, site = self._scene.activity.grant, call_site(_is_allocator)
        grant.begin()
        if slots is None:
            self._emit_alloc(NOBODY, slots=None, reason=grant.reason, site=site, granted=False)
        elif grant.counts and sum(grant.counts) == slots.numel():
            self._split(slots, grant, site)
        elif slots.numel():
            self._emit_alloc(NOBODY, slots=stage(slots), reason=grant.reason, site=site, granted=True)

        if self._scene.engine.has_window and slots is not None:
            record_peers(self._scene, slots)

    def _split(self, slots: Any, grant: Grant, site: str | None) -> None:
        staged, whose, counts = stage(slots), self._scene.rows.batch(grant.reqs), grant.counts
        given = (staged, whose, counts, grant.reason, site)
        self._scene.journal.defer("alloc", len(counts) - counts.count(0), staged, _granted, *given)

    def _emit_alloc(self, identity: Identity, **columns: Any) -> None:
        self._scene.journal.emit("alloc", pool="full", **identity.columns(), **columns)

    def free(self, call: Call) -> Steps:
        """free(free_index), free_segment(free_index, start_pos); inside a group they are only queued."""
        yield from self._freeing(call, peers=True)

    def free_full(self, call: Call) -> Steps:
        """free_full(free_index), free_full_segment(…): of slots that have lost their peers before."""
        yield from self._freeing(call, peers=False)

    def free_inner(self, call: Call) -> Steps:
        """The full side's own free, which the tree calls past the allocator that has both sides, as it evicts (with a window).

        0.5.15 to 0.5.18 write zeros to the mapping before, where the tree has given the peers to other slots.
        """
        if call["self"] is not self._full:
            yield
            return
        if self._writes_past and "free" not in self._inside and tensor_like(slots := call.get("free_index")):
            record_peers(self._scene, slots)
        yield from self._freeing(call, peers=False, allocator=self._scene.engine.allocator)

    def _freeing(self, call: Call, *, peers: bool, allocator: Any = None) -> Steps:
        slots = call.get("free_index")
        with self._outermost("free", allocator or call["self"]) as outermost:
            if outermost and tensor_like(slots):
                self._emit_free(stage(slots) if slots.numel() else None)
                self._note_freed(call.get("start_pos"), slots.numel())
            before = self._given_up
            yield
            if outermost and peers and self._maps and tensor_like(slots):
                self._read_back(slots, untouched=self._given_up == before)

    def _read_back(self, slots: Any, untouched: bool) -> None:
        """What the mapping says of freed slots; where a group only queued them (to 0.5.20), as it ends."""
        if self._group is not None and untouched:
            self._queued.append(slots.clone())
        elif slots.numel():
            record_pages_peers(self._scene, slots)

    def free_peers(self, call: Call) -> Steps:
        """free_swa(free_index), free_swa_segment(…): what left the window loses its peer and keeps its slot."""
        slots = call.get("free_index")
        with self._outermost("free", call["self"]) as outermost:
            self._given_up += 1
            yield
            if outermost and self._maps and tensor_like(slots) and slots.numel():
                record_pages_peers(self._scene, slots)

    def set_peers(self, call: Call) -> Steps:
        """set_full_to_swa_mapping(full_indices, swa_indices): the tree gives slots other peers, on its own account."""
        yield
        if self._is_outside(call["self"]):
            peers = stage(call["swa_indices"])
            self._scene.journal.emit("swa_map", full_slots=stage(call["full_indices"]), swa_slots=peers)

    def clear_peers(self, call: Call) -> Steps:
        """clear_full_to_swa_mapping(full_indices): the tree takes peers away, to give them to other slots."""
        slots = call["full_indices"]
        yield
        if self._is_outside(call["self"]) and slots.numel():
            record_peers(self._scene, slots)

    def _is_outside(self, allocator: Any) -> bool:
        """Whether nothing of the allocator's own is under way, of which the grant or free itself tells."""
        return allocator is self._scene.engine.allocator and not {"alloc", "free"} & self._inside

    def free_pages(self, call: Call) -> Steps:
        """free_page_ids(page_ids): named by the first slot of each page."""
        pages = call["page_ids"]
        with self._outermost("free", call["self"]) as outermost:
            if outermost:
                staged, size = stage(pages), self._scene.engine.page_size
                first = Derived(lambda: staged.resolve() * size, staged.ready)
                self._emit_free(first if pages.numel() else None)
                self._note_freed(None, None)
            yield

    def _note_freed(self, start: Any, count: int | None) -> None:
        if count != 0:
            self._scene.activity.has_freed(None if start is None else int(start), count)

    def _emit_free(self, slots: Any) -> None:
        """An empty free is no event, but it is the next one of its stretch of code."""
        activity, journal = self._scene.activity, self._scene.journal
        reason = activity.free_reason()
        if slots is None:
            return
        if reason == "evict":
            journal.emit("cache", action="evict", slots=slots, pool="full")
        whose = NOBODY if reason == "evict" else activity.request
        place = {"group": self._group, "site": call_site(_is_allocator), "form": "index"}
        journal.emit("free", pool="full", **whose.columns(), slots=slots, reason=reason, **place)

    def group_begun(self, families: tuple[str, ...] | None, _: Any) -> None:
        """free_group_begin()."""
        if families is not None:
            self.left(families)
            self._groups += 1
            self._group = self._groups
            self._scene.journal.defer("free_group", 1, None, _group, "begin", self._group)

    def group_ended(self, families: tuple[str, ...] | None, _: Any) -> None:
        """free_group_end(): what was queued is freed by one call inside, which is no free of its own."""
        if families is not None:
            self.left(families)
            if self._group is not None:
                self._scene.journal.defer("free_group", 1, None, _group, "end", self._group)
                self._group = None
            self._read_queued()

    def _read_queued(self) -> None:
        queued, self._queued = self._queued, []
        if queued:
            import torch

            record_pages_peers(self._scene, torch.cat(queued))

    def clear(self, call: Call) -> Steps:
        with self._outermost("clear", call["self"]) as outermost:
            yield
        if outermost:
            self._group, self._queued = None, []
            self._scene.journal.emit("note", level="info", text="the allocator's free lists were reset")

    @contextmanager
    def _outermost(self, family: str, allocator: Any) -> Iterator[bool]:
        """Whether this is the engine's own call of the scheduler's allocator, not one made by another."""
        entered = self._enter((family,), allocator)
        try:
            yield entered is not None
        finally:
            self.left(entered)


def _group(action: str, group: int) -> dict[str, Any]:
    """The columns of `free_group`."""
    return {"action": action, "group": group}


def _granted(
    slots: Staged, whose: Batch, counts: Sequence[int], reason: str, site: str | None
) -> dict[str, Any]:
    """The columns of `alloc`, a row for each request that got slots, in their order."""
    served = [place for place, count in enumerate(counts) if count]
    return {
        "pool": "full",
        **whose.pick(served).columns(),
        "slots": Cut(slots.resolve(), [counts[place] for place in served]),
        "reason": reason,
        "site": site,
        "granted": True,
    }


def _is_allocator(frame: types.FrameType) -> bool:
    """Whether a frame is the allocator's own, or one that only stands between it and its caller."""
    module = frame.f_globals.get("__name__", "")
    return ".mem_cache.allocator" in module or frame.f_code.co_name in targets.HELPERS
