"""SGLang's allocator with a sliding window, on the CPU: what its calls record.

    python tests/engine/real_swa.py DIR PAGE [FAULT]

DIR is the folder that holds the package `sglang`. FAULT is `keeps-peers`: a release forgets to clear the mapping. Grants, frees in and out of groups, lets slots leave the window;
prints the recorded events and, after each call, the mapping itself.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import building
from recorded import Events

SLOTS, WINDOW_SLOTS = 32, 16
RELEASE = int(sys.argv[1].rpartition(".")[2]) if len(sys.argv) > 1 else 0
"""Of 0.5."""


def main() -> None:
    """Boot, hook, call, print."""
    page = int(sys.argv[2])
    building.boot(sys.argv[1], page, "triton")
    import torch

    allocator = _allocator(page)
    events = Events(allocator)
    mappings: list[dict[str, int]] = []

    def note() -> None:
        mapping = allocator.full_to_swa_index_mapping[:-1]
        mappings.append({str(slot): int(mapping[slot]) for slot in mapping.nonzero().reshape(-1).tolist()})

    with events.recording():
        first, second = _grant(allocator, page, 8), _grant(allocator, page, 4)
        note()
        if len(sys.argv) > 3:
            allocator.clear_full_to_swa_mapping = lambda slots: None
        allocator.free_swa(first[:page])
        note()
        allocator.free_group_begin()
        allocator.free(second)
        note()
        allocator.free_group_end()
        allocator.free(first[page:])
        note()
        if page > 1:
            third = _grant_tail(allocator, 8, page)
            note()
            third = _hand_over(allocator, third, page)
            note()
            allocator.free(third)
            note()
    print(json.dumps({"events": events.rows, "mappings": mappings, "failures": events.failures}))
    del torch


def _hand_over(allocator: Any, slots: Any, page: int) -> Any:
    """The first page gets the peers of the last one, as a tree does it that keeps other slots; those that are left.

    0.5.15 to 0.5.18 write the mapping past the allocator and give the slots back to its full side (`SWAComponent`), later
    releases have a function for it; earlier ones hand nothing over.
    """
    kept, incoming = slots[:page], slots[-page:]
    peers = allocator.full_to_swa_index_mapping[incoming]
    if hasattr(allocator, "clear_full_to_swa_mapping"):
        allocator.clear_full_to_swa_mapping(incoming)
        allocator.set_full_to_swa_mapping(kept, peers)
    elif RELEASE > 14:
        allocator.set_full_to_swa_mapping(kept, peers)
        allocator.full_to_swa_index_mapping[incoming] = 0
        allocator.full_attn_allocator.free(incoming)
        return slots[:-page]
    return slots


def _allocator(page: int) -> Any:
    import torch

    try:
        from sglang.srt.mem_cache.allocator.swa import SWATokenToKVPoolAllocator
    except ImportError:  # 0.5.12
        from sglang.srt.mem_cache.swa_memory_pool import SWATokenToKVPoolAllocator
    from sglang.srt.mem_cache.base_swa_memory_pool import BaseSWAKVPool

    pool: Any = type("Pool", (BaseSWAKVPool,), {"__init__": lambda self: None, "swa_req_ring_size": None})
    pool.__abstractmethods__ = frozenset()
    pool.register_mapping = lambda self, mapping: setattr(self, "full_to_swa_index_mapping", mapping)
    pool.translate_loc_from_full_to_swa = lambda self, slots: self.full_to_swa_index_mapping[slots]
    return SWATokenToKVPoolAllocator(SLOTS, WINDOW_SLOTS, page, torch.float32, "cpu", pool(), False)


def _grant(allocator: Any, page: int, count: int) -> Any:
    if page == 1:
        return allocator.alloc(count)
    return allocator.alloc_extend(*_extend_by(count))


def _extend_by(count: int) -> tuple[Any, ...]:
    """Arguments of `alloc_extend` for one request without a prefix."""
    import torch

    none, length = torch.tensor([0]), torch.tensor([count])
    return none, none, length, length, torch.tensor([-1]), count


def _grant_tail(allocator: Any, count: int, tail: int) -> Any:
    import torch

    none, length = torch.tensor([0]), torch.tensor([count])
    return allocator.alloc_extend_swa_tail(none, none, length, length, torch.tensor([-1]), count, tail)


if __name__ == "__main__":
    main()
