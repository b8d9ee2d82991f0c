"""Our mover beside `move_kv_cache` of the real pools, in every layout that a release can build on the CPU."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import torch
from beside import find, some, tally
from torch import Tensor

from speckv_debug.kernels.move import move_slots
from speckv_debug.kernels.slots import SlotBuffers, packed_view, page_view, row_view
from tests import slot_cases

POOL = "srt.mem_cache.memory_pool"
PAGE, SLOTS, LAYERS = 4, 400, 2
COMMON = {"dtype": torch.bfloat16, "layer_num": LAYERS, "device": "cpu", "enable_memory_saver": False}
Move = Callable[[Tensor, Tensor], None]


def moved() -> None:
    """Each pool moves the same lists as we do, from equal bytes to equal bytes."""
    for name, buffers, views, real in _pools():
        toss = Random(name)
        for turn in range(some(50)):
            for buffer in buffers:
                buffer.view(torch.uint8).copy_(slot_cases.filled(toss, *buffer.view(torch.uint8).shape))
            own = [buffer.clone() for buffer in buffers]
            targets, sources = _pairs(toss, turn)
            real(targets, sources)
            move_slots(SlotBuffers(views(own)), targets, sources)
            ours, theirs = (
                torch.cat([b.view(torch.uint8).flatten() for b in held]) for held in (own, buffers)
            )
            tally(name, len(targets), ours, theirs)


def _pairs(toss: Random, turn: int) -> tuple[Tensor, Tensor]:
    """Targets that differ, padding behind them; every tenth list is longer than a chunk, in an order safe for chunks."""
    if turn % 10 == 9:
        targets, sources = list(range(1, 350)), list(range(2, 351))
    else:
        make = slot_cases.PAIRS[toss.choice(["chain", "shuffled", "apart"])]
        targets, sources = make(toss, SLOTS - 1, toss.randrange(1, 120))
    padding = [-1] * toss.choice([0, 5])
    return torch.tensor(targets + padding) + 1, torch.tensor(sources + padding) + 1


def _pools() -> Iterator[tuple[str, list[Tensor], Callable[[list[Tensor]], list[Tensor]], Move]]:
    """Name, the pool's own buffers, our views of buffers like them, the pool's move."""
    rows = lambda held: [row_view(b) for b in held]
    for layout in ("tiled", "native", "hnd"):
        pool = _mha(layout)
        views = (lambda held: [page_view(b, "HND") for b in held]) if layout == "hnd" else rows
        yield f"MHATokenToKVPool, {layout}", [*pool.k_buffer, *pool.v_buffer], views, pool.move_kv_cache
    latent = {"kv_lora_rank": 32, "qk_rope_head_dim": 8}
    pool = find("MLATokenToKVPool", POOL)(size=SLOTS, page_size=PAGE, **latent, **COMMON)
    yield "MLATokenToKVPool", list(pool.kv_buffer), rows, pool.move_kv_cache
    yield from _sparse(latent)
    yield from _envelopes()


def _mha(layout: str) -> Any:
    native, hnd = layout == "native", layout == "hnd"
    os.environ["SGLANG_NATIVE_MOVE_KV_CACHE"] = str(native)
    os.environ["SGLANG_USE_HND_KVCACHE"] = str(hnd)
    pool = find("MHATokenToKVPool", POOL)(
        size=SLOTS, page_size=PAGE, head_num=2, head_dim=8, enable_kv_cache_copy=not (native or hnd), **COMMON
    )
    assert pool.use_hnd == hnd
    move = pool.move_kv_cache

    def moving(targets: Tensor, sources: Tensor) -> None:
        os.environ["SGLANG_NATIVE_MOVE_KV_CACHE"] = str(native)
        move(targets, sources)

    pool.move_kv_cache = moving
    return pool


def _sparse(latent: dict[str, int]) -> Iterator[Any]:
    """Latent and indexer keys. 0.5.15 indexes whole pages by slots there, so only its latent could be compared."""
    cls = find("DSATokenToKVPool", POOL)
    if "skip_topk_layers" not in inspect.signature(cls).parameters:
        return
    with find("get_parallel", "srt.runtime_context")().override(attn_dcp_size=1):
        pool = cls(size=SLOTS, page_size=64, index_head_dim=128, kv_cache_dim=40, **latent, **COMMON)
    keys = pool.index_key_cache.buffer

    def views(held: list[Tensor]) -> list[Tensor]:
        parts = [
            packed_view(b, 64, start, size) for b in held[LAYERS:] for start, size in ((0, 128), (8192, 4))
        ]
        return [row_view(b) for b in held[:LAYERS]] + parts

    yield "DSATokenToKVPool", [*pool.kv_buffer, *keys], views, pool.move_kv_cache


def _envelopes() -> Iterator[Any]:
    """Views strided over a page's envelope (0.5.15), whole envelopes (0.5.23)."""
    native = find("move_kv_cache_native", POOL)
    raw = torch.zeros(SLOTS // PAGE + 1, PAGE, 2 * LAYERS * 16, dtype=torch.bfloat16)

    def parts(held: list[Tensor]) -> list[Tensor]:
        return [held[0][:, :, 16 * k : 16 * k + 16].unflatten(2, (2, 8)) for k in range(2 * LAYERS)]

    if "page_size" in inspect.signature(native).parameters:
        strided = parts([raw])

        def move(targets: Tensor, sources: Tensor) -> None:
            native(strided[:LAYERS], strided[LAYERS:], targets, sources, page_size=PAGE)

        yield (
            "move_kv_cache_native, pages",
            [raw],
            lambda held: [page_view(part) for part in parts(held)],
            move,
        )
    copy_pages = find("copy_pages", "kernels.ops.kvcache.copy_pages")
    if copy_pages:
        pages = torch.zeros(SLOTS + 1, 64, dtype=torch.uint8)
        move = lambda targets, sources: copy_pages(pages.view(-1), targets, sources, SLOTS + 1, 64)
        yield "copy_pages", [pages], lambda held: [row_view(held[0])], move
