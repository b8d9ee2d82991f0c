"""What compressors read and write of their state rings (`state_access`, DeepSeek-V4), as the plans of their kernels say.

`create_paged_compressor_data` makes the plan that all layers of one ratio follow in a forward, on the device. A plan that is
made inside a CUDA graph is made again in each replay, unseen; states that come back from the host, from another machine
or by compaction were written unseen. Then nothing of this is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang.engine import Engine
from speckv_debug.collectors.sglang.plans import Accesses, decoded, prefilled
from speckv_debug.collectors.sglang.requests import Batch
from speckv_debug.collectors.sglang.rings import c4_state_owner, c4_state_pool, c128_state_pool, is_online
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.staging import Load, stage_all
from speckv_debug.recording.blocks import Cut, Each

PLAN = Target(
    "compress_plan",
    ("sglang.srt.layers.attention.dsv4.compressor_v2:create_paged_compressor_data",),
    parameters=("compress_ratio",),
    optional=True,
)
FOLLOWS_PLANS = "_get_paged_compress_metadata"
"""A method of attention backends whose compressors follow a plan."""


class CompressorHooks:
    """The plans of the target's compressors."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._pools = state_pools(scene.engine)

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield PLAN, self.plan

    def methods(self) -> Iterator[Methods]:
        yield from ()

    def plan(self, call: Call) -> Steps:
        """create_paged_compressor_data(compress_ratio, *, token_to_kv_pool, req_pool_indices, seq_lens, extend_lens, …)."""
        plan = yield
        ratio, engine = int(call["compress_ratio"]), self._scene.engine
        if ratio not in self._pools or call["token_to_kv_pool"] is not engine.target_pool:
            return
        rows, ring_size = call["req_pool_indices"], self._pools[ratio]
        count = int(rows.numel())
        tensors = [_words(plan[1]), rows]
        if not plan.is_decode:
            lengths, extends = call["seq_lens"], call["extend_lens"]
            tensors += [_words(plan[2]), lengths - extends, extends.clone()]
        load, places = stage_all(tensors)
        whose = Batch.of(self._scene.activity.batch).first(count)
        given = (load, places, whose, ratio, ring_size)
        self._scene.journal.defer("state_access", 2 * count, load, _accesses, *given)


def state_pools(engine: Engine) -> dict[int, int | None]:
    """The ratios whose accesses are recorded, with the size of a request's ring; None where states are bound to pages."""
    c4, c128 = c4_state_pool(engine.target_pool), c128_state_pool(engine.target_pool)
    found: dict[int, int | None] = {}
    if c4 is not None:
        by_row = c4_state_owner(engine.target_pool) == "request"
        found[4] = int(c4.ring_size) if by_row else None
    if c128 is not None and not is_online():
        found[128] = int(c128.ring_size)
    return found if found and is_followed(engine) else {}


def is_followed(engine: Engine) -> bool:
    """Whether every plan is made where it is seen, and states are written by what follows one alone."""
    backend = getattr(engine.target_runner, "attn_backend", None)
    unseen = engine.replays_graphs or engine.caches_on_host or engine.shares_memory
    apart = engine.argument("disaggregation_mode") not in (None, "null")
    elsewhere = unseen or apart or bool(engine.argument("enable_two_batch_overlap"))
    return hasattr(type(backend), FOLLOWS_PLANS) and not elsewhere


def _words(plan: Any) -> Any:
    """A plan's bytes, [n, 16] or [n, 8], as 32-bit words."""
    import torch

    return plan.view(torch.int32)


def _accesses(
    load: Load, places: Sequence[int], whose: Batch, ratio: int, ring: int | None
) -> dict[str, Any]:
    """The columns of `state_access`, two events a request, once the plan has arrived: empty where nothing is read or written."""
    plan, rows, *more = (load.values(place) for place in places)
    if more:
        written, first, extends = more
        read, write = prefilled(plan, written, first, extends, ratio)
        both = (("read", read), ("write", write))
    else:
        read, write = decoded(plan, ratio)
        both = (("write", write), ("read", read))
    rows = rows.astype(np.int64)
    base = np.zeros_like(rows) if ring is None else rows * ring
    cells = np.concatenate([each.address - base[each.request] for _, each in both])
    lengths = [count for _, each in both for count in _counts(each, len(rows))]
    return {
        "pool": f"c{ratio}_state",
        "request": Each(whose.requests * 2),
        "row": Each([None] * 2 * len(rows) if ring is None else rows.tolist() * 2),
        "action": Each([action for action, _ in both for _ in range(len(rows))]),
        "ring_rows": Cut(cells, lengths),
        "positions": Cut(np.concatenate([each.position for _, each in both]), lengths),
    }


def _counts(accesses: Accesses, count: int) -> list[int]:
    """How many belong to each request."""
    found: list[int] = np.bincount(accesses.request, minlength=count).tolist()
    return found
