"""SGLang's pool with an indexer (DSA), on the CPU: which components of accepted rows a move is recorded with.

    python tests/engine/real_indexer.py DIR [FAULT]

FAULT is `left-behind`: the pool moves what a pool without an indexer moves. DIR is the folder that holds the package
`sglang`. Prints the pool's entry, the recorded events and whether contents are where they belong.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import building
from recorded import Events

PAGE, SLOTS = 64, 256
WINDOW, TARGETS, SOURCES = [80, 81, 82, 83], [80, 81, 82], [80, 81, 83]


def main() -> None:
    """Boot, hook, move, print."""
    building.boot(sys.argv[1], PAGE, "triton")
    import torch

    from speckv_debug.collectors.sglang import describe

    pool = _pool()
    if sys.argv[2:] == ["left-behind"]:
        type(pool).move_kv_cache = type(pool).__mro__[1].move_kv_cache
    keys = pool.index_key_cache.get_local_buffer(0)
    keys.copy_(torch.arange(keys.numel()).reshape(keys.shape) % 251)
    before = _key_of(keys, SOURCES[2])
    events = Events(pool)
    parts = {"target_pool": pool, "draft_runners": (), "_pool_names": {id(pool): "full"}, "table": object()}
    with events.recording("EAGLE", **parts) as scene:
        scene.journal.launched = 1
        scene.journal.emit("accept", **_accepted())
        with scene.activity.moving("accept"):
            pool.move_kv_cache(torch.tensor(TARGETS), torch.tensor(SOURCES))
    moved = _key_of(pool.index_key_cache.get_local_buffer(0), TARGETS[2]) == before
    space = {"name": "full", "kind": "full", "slots": SLOTS, "page_size": PAGE, "reserved_slots": PAGE}
    entry = space | describe._content(pool)
    print(json.dumps({"events": events.rows, "failures": events.failures, "pool": entry, "moved": moved}))


def _accepted() -> dict[str, Any]:
    """Four rows, of which the second's other child is accepted."""
    tree = {"next_token": [1, 3, -1, -1], "next_sibling": [-1, 2, -1, -1], "accept_index": [0, 1, 3]}
    slots = {"out_cache_loc": WINDOW, "table_slots": WINDOW, "seq_len": 16, "new_seq_len": 19}
    lengths = {"accept_len": 3, "num_correct_drafts": 2, "width": 4, "block_start": 0, "batch_index": 0}
    return {"request": "a", "row": 1, "epoch": 1, "layout": "tree", "topk": 2, **tree, **slots, **lengths}


def _key_of(keys: Any, slot: int) -> list[int]:
    """A slot's key: a page has all its keys in front, then all scales."""
    page, offset = divmod(slot, PAGE)
    found: list[int] = keys[page, : PAGE * 128].reshape(PAGE, 128)[offset].tolist()
    return found


def _pool() -> Any:
    import torch
    from sglang.srt.mem_cache.memory_pool import DSATokenToKVPool
    from sglang.srt.runtime_context import get_parallel

    sizes = {"size": SLOTS, "page_size": PAGE, "index_head_dim": 128, "kv_cache_dim": 40, "layer_num": 1}
    made = {"dtype": torch.bfloat16, "device": "cpu", "enable_memory_saver": False}
    with get_parallel().override(attn_dcp_size=1):
        return DSATokenToKVPool(**sizes, **made, kv_lora_rank=32, qk_rope_head_dim=8)


if __name__ == "__main__":
    main()
