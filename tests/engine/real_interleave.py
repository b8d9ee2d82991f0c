"""SGLang's allocator with pages spread over ranks, on the CPU: what its calls and its account record.

    python tests/engine/real_interleave.py DIR

DIR is the folder that holds the package `sglang`. Three requests get pages until one rank has more left than the
other; one of them ends. Prints events, the pool, and what `available_size` says at each settled point.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import building
from recorded import Events

PAGE, RANKS, SLOTS = 4, 2, 24


def main() -> None:
    """Boot, hook, call, print."""
    building.boot(sys.argv[1], PAGE, "triton")
    import torch
    from sglang.srt.mem_cache.allocator.page_interleave import PageInterleavePoolAllocator

    allocator = PageInterleavePoolAllocator(SLOTS, PAGE, RANKS, torch.float32, "cpu", None, False)
    events = Events(allocator)
    floors = []
    with events.recording() as scene:
        engine = _engine(scene)
        settle = _settling(scene)
        for step, (request, row, tokens) in enumerate((("a", 1, 12), ("b", 2, 4), ("c", 3, 8)), start=1):
            scene.journal.launched = step
            slots = _grant(scene, allocator, request, row, tokens)
            settle()
            floors.append(allocator.available_size())
        req = SimpleNamespace(rid="c", req_pool_idx=3)
        lengths = {"committed": 8, "allocated": 8, "free_start": 8, "page_size": PAGE}
        scene.journal.emit("release", **scene.rows.identity(req).columns(), kind="finish", **lengths)
        with scene.activity.working_on(scene.rows.identity(req)):
            allocator.free_segment(slots, start_pos=0)
        scene.journal.emit("row_free", **scene.rows.identity(req).columns())
        settle()
        floors.append(allocator.available_size())
    from speckv_debug.collectors.sglang import describe

    pool = next(iter(describe.pools(engine)))
    print(json.dumps({"events": events.rows, "failures": events.failures, "pool": pool, "floors": floors}))


def _engine(scene: Any) -> Any:
    """What a description of the pools asks for beside the allocator."""
    engine = scene.engine
    engine.target_pool, engine.draft_runners, engine.sessions = object(), (), None
    engine.table = SimpleNamespace(mamba_pool=None)
    sizes = {"evictable_size": lambda: 0, "protected_size": lambda: 0, "supports_swa": lambda: False}
    engine.tree = SimpleNamespace(**sizes)
    return engine


def _settling(scene: Any) -> Any:
    from speckv_debug.collectors.sglang.loop import LoopHooks, ResultSteps

    scene.journal.bound = True
    return LoopHooks(scene, ResultSteps()).pool_stat


def _grant(scene: Any, allocator: Any, request: str, row: int, tokens: int) -> Any:
    import torch

    from speckv_debug.collectors.sglang.activity import Grant

    req = SimpleNamespace(rid=request, req_pool_idx=row)
    epoch = scene.rows.hand_out(row, req)
    scene.journal.emit("row_alloc", row=row, epoch=epoch, request=request)
    none, length = torch.tensor([0]), torch.tensor([tokens])
    with scene.activity.granting(Grant("extend", (req,), (tokens,))):
        slots = allocator.alloc_extend(none, none, length, length, none - 1, tokens, rotation_bases=[None])
    written = {"row": row, "epoch": epoch, "start": 0, "slots": slots.tolist()}
    scene.journal.emit("table_write", **written)
    lengths = {"committed": tokens, "allocated": tokens, "cause": "extend"}
    scene.journal.emit("lengths", **scene.rows.identity(req).columns(), **lengths)
    return slots


if __name__ == "__main__":
    main()
