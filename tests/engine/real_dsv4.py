"""SGLang's DeepSeek-V4 pieces, on the CPU: counted pages of C128 KV, sidecar rows, state rings; what their calls record.

    python tests/engine/real_dsv4.py DIR

DIR is the folder that holds the package `sglang`. The classes are SGLang's own, made bare with the few attributes that
they read; the clear of rejected states is its Triton kernel, interpreted. Prints a run for each of RUNS; before 0.5.18 pages
are not counted, and only those of rings are made.
"""

from __future__ import annotations

import inspect
import json
import sys
import types
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import building
from recorded import Events

RELEASE = int(sys.argv[1].rpartition(".")[2]) if len(sys.argv) > 1 else 0
"""Of 0.5."""
COUNTED = RELEASE >= 18
OF_PAGES = ("named-twice", "released-twice", "moved-page")
ROWS, PAGE, PAGES, RING, WIDTH, HEAD, SWA_PAGE = 4, 4, 16, 8, 4, 8, 8
RUNS = (
    *(("none", 2), ("none", 3), ("named-twice", 2), ("released-twice", 2), ("moved-page", 2)),
    *((fault, level) for fault in ("count-of-drafts", "one-offset-late", "half-cleared") for level in (2, 3)),
)
"""What is planted, and the level at which it is recorded."""


def main() -> None:
    """Boot, run, print."""
    building.boot(sys.argv[1], 1, "triton")
    sys.modules.setdefault("torch_npu", types.ModuleType("torch_npu"))
    wanted = [(fault, level) for fault, level in RUNS if COUNTED or fault not in OF_PAGES]
    runs = {f"{fault} {level}": run(fault, level) for fault, level in wanted}
    by_index = {"by_index": _free_by_index()} if COUNTED else {}
    print(json.dumps(runs | by_index | {"addresses": _addresses()}))


def _addresses() -> dict[str, Any]:
    """Where SGLang's pool puts the states of positions: by request row (C128), by page of the window (C4 before A5)."""
    import torch
    from sglang.srt.mem_cache.deepseek_v4_compress_state import CompressStatePool

    sizes = {"size": (ROWS + 1) * RING, "ring_size": RING, "head_dim": HEAD, "swa_page_size": SWA_PAGE}
    made = {"dtype": torch.float32, "device": "cpu", "enable_memory_saver": False}
    pool = _made(CompressStatePool, **sizes, **made, overlap=True, ratio=4)
    rows, positions = torch.tensor([2, 2, 3, 1]), torch.tensor([5, 13, 8, -1])
    peers = torch.tensor([0, 5, 9, 19, -1])
    return {
        "by_row": pool.translate_from_req_position_to_state_loc(rows, positions).tolist(),
        "by_page": pool.translate_from_swa_loc_to_state_loc(peers).tolist(),
    }


def _free_by_index() -> dict[str, Any]:
    """`free(free_index)` of the allocator for NPUs, as a tail or the tree's eviction calls it: it names no request."""
    import real_swa
    from sglang.srt.mem_cache.allocator.swa import SWATokenToKVPoolAllocator

    allocator, plain = _allocator(), real_swa._allocator(PAGE)
    vars(allocator).update(vars(plain))
    slots = SWATokenToKVPoolAllocator.alloc_extend(allocator, *real_swa._extend_by(8))
    allocator.c128_page_refcount[:] = 1
    events = Events(allocator)
    with events.recording():
        allocator.free(slots[PAGE:])
    left = allocator.full_to_swa_index_mapping[slots]
    counts = set(allocator.c128_page_refcount.tolist())
    told = {"slots": slots.tolist(), "peers": left.tolist(), "counts": sorted(counts)}
    return {"events": events.rows, "failures": events.failures, **told}


def run(fault: str, level: int) -> dict[str, Any]:
    """Hook, live, and what was recorded of it."""
    import sglang.srt.mem_cache.deepseek_v4_memory_pool as module

    from speckv_debug.collectors.sglang import describe

    clear = module.clear_unaccepted_c128_draft_states
    module.clear_unaccepted_c128_draft_states = _faulty(clear, fault)
    allocator, table, pool = _allocator(), _table(), _pool(module)
    allocator._kvcache, table._dsv4_allocator = pool, allocator
    if RELEASE < 21 and COUNTED:  # the allocator asks for it by name
        allocator.get_kvcache = lambda: pool
    events = Events(allocator)
    try:
        with events.recording("EAGLE", level, table=table, target_pool=pool) as scene:
            if COUNTED:
                _pages(scene, allocator, table, fault)
            _rings(scene, pool, fault)
            pools = list(describe.beside(scene.engine))
    finally:
        module.clear_unaccepted_c128_draft_states = clear
    counts = allocator.c128_page_refcount.tolist() if COUNTED else []
    return {"events": events.rows, "failures": events.failures, "pools": pools, "counts": counts}


def _pages(scene: Any, allocator: Any, table: Any, fault: str) -> None:
    """Row a computes two pages, the tree takes the first, row b goes on from it; both end, the tree evicts."""
    import torch

    scene.journal.launched = 1
    a, b = _request("a"), _request("b")
    table.alloc([a])
    slots = allocator.c128_attn_allocator.alloc(2 * PAGE)
    pages = slots[::PAGE] // PAGE
    allocator.replace_req_c128_prefix(_row(a), pages, table)
    allocator.retain_c128_pages(pages[:1])
    table.set_c128_prefix_pages(b, pages[:1])
    table.alloc([b])
    _launch(scene)
    if fault == "moved-page":
        allocator.replace_req_c128_prefix(_row(a), torch.flip(pages, (0,)), table)
    if fault == "named-twice":  # a retain counts each, a release counts once: two are due
        twice = torch.cat((pages[:1], pages[:1]))
        for change in (
            allocator.retain_c128_pages,
            allocator.release_c128_pages,
            allocator.release_c128_pages,
        ):
            change(twice)
    if fault == "released-twice":
        allocator.release_c128_pages(pages[1:])
    _launch(scene)
    table.free(a)
    _launch(scene)
    allocator.release_c128_pages(pages[:1])
    table.free(b)
    _launch(scene)
    _launch(scene)


def _rings(scene: Any, pool: Any, fault: str) -> None:
    """Two requests verify four rows each, three and one of them accepted."""
    import torch

    scene.journal.launched += 1
    rows, lengths, accepted = torch.tensor([1, 2]), torch.tensor([6, 10]), torch.tensor([3, 1]).int()
    who = [
        scene.rows.identity(SimpleNamespace(rid=rid, req_pool_idx=row)) for rid, row in (("c", 1), ("d", 2))
    ]
    for each, length, count in zip(who, lengths.tolist(), accepted.tolist(), strict=True):
        verify = {"width": WIDTH, "seq_len": length, "accept_len": count, "new_seq_len": length + count}
        scene.journal.emit("accept", **each.columns(), **verify, topk=1)
    told = accepted - 1 if fault == "count-of-drafts" else accepted
    with scene.activity.running(None, who):
        pool.clear_unaccepted_c128_draft_states(rows, lengths, told, WIDTH)
    end = "clear_request_scoped_state" if RELEASE > 20 else "clear_c128_req_state"
    getattr(pool, end)(2)


def _faulty(clear: Any, fault: str) -> Any:
    """The kernel's wrapper, with faults inside: what it is told stays right."""

    def faulty(state: Any, rows: Any, lengths: Any, accepted: Any, **sizes: Any) -> None:
        kept = state[:, HEAD:].clone()
        clear(state, rows, lengths, accepted + (fault == "one-offset-late"), **sizes)
        if fault == "half-cleared":
            state[:, HEAD:] = kept

    return faulty


def _launch(scene: Any) -> None:
    from speckv_debug.collectors.sglang.references import counted

    scene.journal.launched += 1
    scene.journal.emit("pool_stat", **counted(scene.engine))
    scene.journal.emit("forward", mode="decode", padded=False)


def _request(rid: str) -> Any:
    lengths = {"kv_allocated_len": 1024, "kv_committed_len": 1024}
    if RELEASE < 19:  # lengths and row are the request's own
        kv = SimpleNamespace(kv_allocated_len=1024)
        more = {"req_pool_idx": None, "inflight_middle_chunks": 0, "kv": kv}
        return SimpleNamespace(rid=rid, c128_prefix_page_ids=None, **lengths, **more)
    from sglang.srt.managers.schedule_batch import ReqKvInfo

    return SimpleNamespace(rid=rid, kv=ReqKvInfo(**lengths), c128_prefix_page_ids=None)


def _row(request: Any) -> int:
    return int(request.req_pool_idx if RELEASE < 19 else request.kv.req_pool_idx)


def _made(cls: Any, **given: Any) -> Any:
    """One of the class, by the arguments that this release has."""
    known = inspect.signature(cls.__init__).parameters
    return cls(**{name: value for name, value in given.items() if name in known})


def _allocator() -> Any:
    if not COUNTED:
        return SimpleNamespace()
    import torch
    from sglang.srt.hardware_backend.npu.dsv4.dsv4_allocator import DSV4NPUTokenToKVPoolAllocator
    from sglang.srt.mem_cache.allocator.paged import PagedTokenToKVPoolAllocator

    allocator = object.__new__(DSV4NPUTokenToKVPoolAllocator)
    allocator.c128_attn_allocator = PagedTokenToKVPoolAllocator(
        PAGES * PAGE, PAGE, torch.float32, "cpu", None, False
    )
    allocator.c128_page_refcount = torch.zeros(PAGES + 1, dtype=torch.int32)
    allocator.page_size = PAGE
    return allocator


def _table() -> Any:
    if not COUNTED:
        return SimpleNamespace()
    import torch
    from sglang.srt.hardware_backend.npu.dsv4.dsv4_req_to_token_pool import DSV4NPUReqToTokenPool
    from sglang.srt.mem_cache.memory_pool import ReqToTokenPool

    table = object.__new__(DSV4NPUReqToTokenPool)
    ReqToTokenPool.__init__(table, ROWS, 64, "cpu", False)
    table.c128_page_size = PAGE
    table.req_to_c128_sidecar = torch.zeros((ROWS + 1, 4), dtype=torch.int32)
    return table


def _pool(module: Any) -> Any:
    """Two C128 layers and one without state; every ring holds something."""
    import torch
    from sglang.srt.mem_cache.deepseek_v4_compress_state import CompressStatePool

    pool = object.__new__(module.DeepSeekV4TokenToKVPool)
    sizes = {"size": (ROWS + 1) * RING, "ring_size": RING, "overlap": False, "head_dim": HEAD}
    made = {"dtype": torch.float32, "device": "cpu", "enable_memory_saver": False, "ratio": 128}
    states = [_made(CompressStatePool, **sizes, **made, request_scoped=True) for _ in range(2)]
    for each in states:
        each.kv_score_buffer.kv_score.uniform_(1, 2)
    pool.compress_state_pools = [None, *states]
    return pool


if __name__ == "__main__":
    main()
