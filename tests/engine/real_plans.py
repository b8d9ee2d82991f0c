"""SGLang's compressor plans, on the CPU: what a prefill, verifies and a decode are told to read and write of state rings.

    python tests/engine/real_plans.py DIR

DIR is the folder that holds the package `sglang`. `create_paged_compressor_data`, the plans, the pool and its clear are
SGLang's own, and so is the planner, compiled for the host. Prints a run for each of FAULTS.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import building
import host_planner
from real_dsv4 import HEAD
from recorded import Events

FAULTS = ("none", "no-pad", "other-row")
ROWS, ROW_SLOTS, WINDOW_PAGE, WIDTH = 3, 1024, 256, 4
RINGS = {128: 256, 4: 16}
"""Rows of a ring with speculation."""
PREFILLED = [126, 6]
ACCEPTED = ([1, 3], [4, 1], [3, 2], [1, 4])
"""Rows that each verify accepts, of either request: the first compresses at a boundary that it then rejects."""


def main() -> None:
    """Boot, run, print."""
    building.boot(sys.argv[1], 1, "triton")
    host_planner.install(sys.argv[1])
    print(json.dumps({fault: run(fault) for fault in FAULTS}))


def run(fault: str) -> dict[str, Any]:
    """Hook, live, and what was recorded of it."""
    from sglang.kernels.ops.attention.dsv4 import compress
    from sglang.srt.layers.attention.dsv4.compressor_v2 import CompressorBackendMixin

    from speckv_debug.collectors.sglang import describe

    planner = compress._jit_compress_plan_module()
    right = planner.plan_prefill
    planner.plan_prefill = lambda *given: _faulty(right(*given), fault, given)
    pool = _pool()
    events = Events(SimpleNamespace())
    runner = SimpleNamespace(attn_backend=object.__new__(CompressorBackendMixin))
    try:
        with events.recording(
            "EAGLE", target_pool=pool, target_runner=runner, table=SimpleNamespace()
        ) as scene:
            _live(scene, pool)
            pools = list(describe.beside(scene.engine))
    finally:
        planner.plan_prefill = right
    return {"events": events.rows, "failures": events.failures, "pools": pools}


def _faulty(plans: tuple[Any, Any], fault: str, given: tuple[Any, ...]) -> tuple[Any, Any]:
    """A planner that keeps nothing for drafts that may be rejected, or one that takes another row's ring."""
    import torch

    compress, write = plans
    lengths, extends, ratio, ring = given[3], given[4], given[7], given[9]
    words = write.view(torch.int32)
    if fault == "no-pad":
        bounds = lengths // ratio * ratio - (ratio if ratio == 4 else 0)
        owner = torch.repeat_interleave(torch.arange(len(lengths)), extends)
        first = torch.cumsum(extends, 0) - extends
        ragged = words[:, 0].long()
        position = (lengths - extends)[owner[ragged]] + ragged - first[owner[ragged]]
        write = write[position >= bounds[owner[ragged]]].contiguous()
    if fault == "other-row" and ratio == 128 and len(compress):
        compress.view(torch.int32)[:, 3] += ring // ratio
    return compress, write


def _live(scene: Any, pool: Any) -> None:
    """Two requests: a prefill, verifies, a plain decode."""
    import torch

    rows, lengths = torch.tensor([1, 2]), torch.tensor(PREFILLED)
    who = [
        scene.rows.identity(SimpleNamespace(rid=rid, req_pool_idx=row)) for rid, row in (("a", 1), ("b", 2))
    ]
    for each in who:
        scene.journal.emit("row_alloc", row=each.row, epoch=1, request=each.request)
    _forward(scene, pool, who, rows, lengths, lengths)
    for accepted in map(torch.tensor, ACCEPTED):
        _forward(scene, pool, who, rows, lengths + WIDTH, torch.full_like(lengths, WIDTH))
        _accept(scene, pool, who, rows, lengths, accepted)
        lengths = lengths + accepted
    for _ in range(WIDTH):
        lengths = lengths + 1
        _forward(scene, pool, who, rows, lengths, None)


def _forward(scene: Any, pool: Any, who: Any, rows: Any, lengths: Any, extends: Any) -> None:
    """The plans of both ratios, made as the attention backend makes them for a prefill, verify (tokens each) or decode."""
    import torch
    from sglang.srt.layers.attention.dsv4.compressor_v2 import create_paged_compressor_data

    table = torch.arange(ROWS * ROW_SLOTS, dtype=torch.int32).reshape(ROWS, ROW_SLOTS)
    told = {"token_to_kv_pool": pool, "req_to_token": table, "req_pool_indices": rows, "seq_lens": lengths}
    if extends is not None:
        told |= {"extend_lens": extends, "num_q_tokens": int(extends.sum())}
    scene.journal.launched += 1
    with scene.activity.running(None, who):
        for ratio in RINGS:
            create_paged_compressor_data(ratio, is_prefill=extends is not None, **told)


def _accept(scene: Any, pool: Any, who: Any, rows: Any, lengths: Any, accepted: Any) -> None:
    for each, length, count in zip(who, lengths.tolist(), accepted.tolist(), strict=True):
        verify = {"width": WIDTH, "seq_len": length, "accept_len": count, "new_seq_len": length + count}
        scene.journal.emit("accept", **each.columns(), **verify, topk=1)
    with scene.activity.running(None, who):
        pool.clear_unaccepted_c128_draft_states(rows, lengths, accepted.int(), WIDTH)


def _pool() -> Any:
    """A C128 layer and a C4 layer whose states are bound to the window's pages."""
    import torch
    from sglang.srt.mem_cache.deepseek_v4_compress_state import CompressStatePool
    from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4TokenToKVPool

    pool = object.__new__(DeepSeekV4TokenToKVPool)
    made = {"dtype": torch.float32, "device": "cpu", "enable_memory_saver": False, "head_dim": HEAD}
    pool.compress_state_pools = [
        CompressStatePool(
            size=ring * (ROWS if ratio == 128 else ROWS * ROW_SLOTS // WINDOW_PAGE),
            ring_size=ring,
            overlap=ratio == 4,
            ratio=ratio,
            request_scoped=ratio == 128,
            **made,
        )
        for ratio, ring in RINGS.items()
    ]
    pool.swa_page_size, pool._unified_kv = WINDOW_PAGE, False
    pool.get_ring_size = lambda compress_ratio: RINGS[compress_ratio]
    pool.full_to_swa_index_mapping = torch.arange(ROWS * ROW_SLOTS)
    return pool


if __name__ == "__main__":
    main()
