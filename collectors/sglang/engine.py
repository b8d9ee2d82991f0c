"""The scheduler that is recorded: its pools, tree and configuration, read wherever this release keeps them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from speckv_debug.collectors.sglang.families import bypasses, frees_each_round

WORKER_PATHS = (
    ("draft_worker", "draft_runner"),
    ("_draft_worker", "draft_runner"),
    ("draft_runner",),
    ("draft_model_runner",),
    ("model_runner",),
)
EAGLE_FAMILY = ("EAGLE", "EAGLE3", "NEXTN")
"""Algorithms whose draft pool is a token ahead."""

SHARING_ALLOCATORS = ("Unified", "MultiEnded", "HiSparse")
"""Parts of the names of allocators that count by what may be granted, in bytes or on two levels."""


class Engine:
    """One scheduler and what was built with it."""

    def __init__(self, scheduler: Any) -> None:
        self.scheduler = scheduler
        self.args = scheduler.server_args
        self.allocator = scheduler.token_to_kv_pool_allocator
        self.table = scheduler.req_to_token_pool
        self.tree = getattr(scheduler.tree_cache, "inner", None) or scheduler.tree_cache
        self.sessions = _sessions_of(scheduler.tree_cache)
        self.target_pool = self.allocator.get_kvcache()
        self.target_runner = scheduler.tp_worker.model_runner
        self.draft_runners = tuple(self._draft_runners())
        self._pool_names = {id(self.target_pool): "full"}
        for runner in self.draft_runners:
            self._pool_names.setdefault(id(runner.token_to_kv_pool), "draft")

    @property
    def page_size(self) -> int:
        """The allocator's page size, DCP widening included."""
        return int(self.allocator.page_size)

    @property
    def algorithm(self) -> str | None:
        """Name of the speculative algorithm, None without."""
        name = self.argument("speculative_algorithm")
        return None if name is None else str(getattr(name, "name", name)).upper()

    @property
    def bypass(self) -> str | None:
        """Why verifies may happen that no hook sees, None if they can't."""
        worker = getattr(self.scheduler, "draft_worker", None)
        return bypasses(self.algorithm, self.argument("speculative_eagle_topk"), worker)

    @property
    def frees_each_round(self) -> bool:
        """Whether rejected slots are freed in every round (V1 workers)."""
        return frees_each_round(self.algorithm, getattr(self.scheduler, "draft_worker", None))

    @property
    def overlaps(self) -> bool:
        """Whether scheduling overlaps with the forward."""
        return bool(getattr(self.scheduler, "enable_overlap", False))

    @property
    def row_width(self) -> int:
        """Columns of req_to_token."""
        return int(self.table.req_to_token.shape[1])

    @property
    def slots(self) -> int:
        """Slots that the allocator can hand out: whole pages, of the full pool where there is a smaller one beside.

        In unified memory all that have an id: how many of them there is room for moves with the other pools.
        """
        if self.virtual is not None:
            return int(self.virtual.num_virtual_ids) * self.page_size - self.reserved_slots
        size = self.allocator.size_full if self.has_window else self.allocator.size
        return int(size) // self.reserved_slots * self.reserved_slots

    @property
    def reserved_slots(self) -> int:
        """Slots in front that are never handed out: one page, of each rank that the pages are spread over."""
        return self.page_size * int(getattr(self.allocator, "shard_size", 1))

    @property
    def available(self) -> int:
        """Slots that are free, of the full pool."""
        return int(self.count_free())

    @property
    def count_free(self) -> Callable[[], int]:
        """What counts the free slots, of the full pool.

        With pages spread over ranks (`PageInterleavePoolAllocator`, 0.5.20 and later) `available_size` is what the
        fullest rank still allows, not what is free.
        """
        allocator = self.allocator
        found: Callable[[], int] = (
            allocator.full_available_size
            if self.has_window
            else getattr(allocator, "aggregate_free_size", None) or allocator.available_size
        )
        return found

    @property
    def shares_memory(self) -> bool:
        """Whether how much is available moves with another pool: unified memory, or a copy on the host beside."""
        names = [cls.__name__ for cls in type(self.allocator).__mro__]
        return any(part in name for name in names for part in SHARING_ALLOCATORS)

    @property
    def virtual(self) -> Any:
        """What names the slots of unified memory, which keep their names while pages move; None where slots are places."""
        names = getattr(self.allocator, "full_attn_allocator", None)
        return names if hasattr(names, "num_virtual_ids") else None

    @property
    def has_window(self) -> bool:
        """Whether slots have peers in a pool of sliding-window layers."""
        allocator = self.allocator
        mapped = hasattr(allocator, "swa_attn_allocator") and hasattr(allocator, "full_to_swa_index_mapping")
        return mapped and not getattr(allocator, "_swa_req_ring", False) and not self.is_all_window

    @property
    def window_slots(self) -> int:
        """Slots of whole pages in the pool of sliding-window layers."""
        return int(self.allocator.size_swa) // self.page_size * self.page_size

    @property
    def full_side(self) -> Any:
        """The full pool's own allocator, where another has it and a window's at its sides; None elsewhere."""
        both = all(hasattr(self.allocator, f"{side}_attn_allocator") for side in ("full", "swa"))
        return self.allocator.full_attn_allocator if both and not self.is_all_window else None

    @property
    def is_all_window(self) -> bool:
        """Whether every layer has a sliding window: then slots themselves are freed behind it, and rows go on naming them."""
        window = getattr(self.allocator, "swa_attn_allocator", None)
        return window is not None and window is getattr(self.allocator, "full_attn_allocator", None)

    @property
    def has_recurrent_state(self) -> bool:
        """Whether requests keep states of linear attention beside KV."""
        return getattr(self.table, "mamba_pool", None) is not None

    @property
    def counts_references(self) -> bool:
        """Whether pages of C128 KV are kept by counted references of sidecar rows and of the tree (NPUs, 0.5.18 and later)."""
        return hasattr(type(self.allocator), "retain_c128_pages")

    @property
    def caches_on_host(self) -> bool:
        """Whether nodes of the tree may lie in host memory only: their locks then name no slots."""
        return bool(self.argument("enable_hierarchical_cache", False))

    @property
    def has_encoder(self) -> bool:
        """Whether rows hold the encoder's slots before the request's own (encoder-decoder models): positions are shifted."""
        return bool(getattr(getattr(self.scheduler, "model_config", None), "is_encoder_decoder", False))

    @property
    def hides_drafts(self) -> bool:
        """Whether draft forwards may go unseen: replayed from CUDA graphs, or in the layers behind the first."""
        return (self.replays_graphs and bool(self.draft_runners)) or self.drafts_in_layers

    @property
    def replays_graphs(self) -> bool:
        """Whether forwards may be replayed from CUDA graphs, so that what is computed inside passes no function of Python."""
        on_device = str(getattr(self.scheduler, "device", "cpu")) != "cpu"
        return on_device and not self.argument("disable_cuda_graph", False)

    @property
    def drafts_in_layers(self) -> bool:
        """Whether each draft step has a model and a pool of its own (multi-layer EAGLE); those of the first are recorded."""
        worker = getattr(self.scheduler, "draft_worker", None)
        worker = getattr(worker, "draft_worker", None) or getattr(worker, "_draft_worker", None)
        return len(getattr(worker, "draft_runner_list", None) or ()) > 1

    @property
    def drafts_write_no_kv(self) -> bool:
        """Whether the draft model reads the target's KV and has none (frozen-KV MTP): its pool is a stopgap."""
        asked = getattr(getattr(self.scheduler, "spec_algorithm", None), "is_frozen_kv_mtp", None)
        return bool(asked is not None and asked())

    def argument(self, name: str, default: Any = None) -> Any:
        """A server argument by its name."""
        return getattr(self.args, name, default)

    def pool_name(self, pool: Any) -> str | None:
        """`full` or `draft`; None for a pool inside another one."""
        return self._pool_names.get(id(pool))

    def draft_pools(self) -> tuple[Any, ...]:
        """The draft model's own pools."""
        pools = {id(runner.token_to_kv_pool): runner.token_to_kv_pool for runner in self.draft_runners}
        return tuple(pool for key, pool in pools.items() if key != id(self.target_pool))

    def is_untouched(self) -> bool:
        """Whether nothing has been allocated yet."""
        if self.virtual is not None:
            return not int(self.virtual.allocated_count())
        return self.available == self.slots

    def _draft_runners(self) -> Iterator[Any]:
        worker = getattr(self.scheduler, "draft_worker", None)
        for path in WORKER_PATHS if worker is not None and not self.drafts_write_no_kv else ():
            found = worker
            for name in path:
                found = getattr(found, name, None)
            if found is not None and found is not self.target_runner and hasattr(found, "token_to_kv_pool"):
                yield found
                return


def _sessions_of(tree: Any) -> Any:
    """What keeps the rows of streaming sessions: the tree's wrapper or a part of it, None if nothing does."""
    for keeper in (tree, getattr(tree, "session", None)):
        if hasattr(type(keeper), "_free_kv_aligned"):
            return keeper
    return None


def path_slots(tree: Any, node: Any) -> Any:
    """Slots of the path from the tree's root to a node, as a device tensor; None if there are none.

    0.5.17 and later name nodes by number and give the path (0.5.22 and later in one call), unless a part of it
    lies in host memory only; before, a node has `value` and `parent`.
    """
    if hasattr(tree, "path_device_indices") or hasattr(tree, "tree_core"):
        try:
            slots = _path_by_number(tree, node)
        except AssertionError:
            return None
        return slots if slots.numel() else None
    values = []
    while node is not None and getattr(node, "parent", None) is not None:
        if node.value is not None and len(node.value):
            values.append(node.value)
        node = node.parent
    if not values:
        return None
    import torch

    return torch.cat(values[::-1])


def _path_by_number(tree: Any, node: Any) -> Any:
    if hasattr(tree, "path_device_indices"):
        return tree.path_device_indices(node)
    return tree.tree_core.collect_full_device_indices(node, tree.root_node_handle())


def node_number(node: Any) -> int | None:
    """A node's number in its tree, None if it has none."""
    number = node if isinstance(node, int) else getattr(node, "id", None)
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def targets_from_window() -> bool:
    """Whether the mover reads its targets from the verify window (0.5.23) and not from req_to_token."""
    from speckv_debug.collectors.sglang.targets import SPECULATIVE, WINDOW_TARGETS

    return hasattr(sys.modules.get(f"{SPECULATIVE}.spec_utils"), WINDOW_TARGETS)
