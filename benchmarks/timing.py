"""Time on the device and on the host, and the pool that the issue's figures are about."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from torch import Tensor

from speckv_debug.kernels.slots import SlotBuffers, row_view

LAYERS, HEADS, DIM = 64, 8, 128
SLOT_BYTES = 2 * LAYERS * HEADS * DIM * 2
AHEAD_CYCLES = 4_000_000
"""The device waits so long (some 2 ms) before what is timed, so that the host is done launching it by then."""


class Bench:
    """Times calls with a second-level cache that holds nothing of theirs."""

    def __init__(self, device: str = "cuda") -> None:
        self._cold = torch.zeros(1 << 28, dtype=torch.int32, device=device)  # 1 GiB: read, it fills the cache

    def device_ms(self, call: Callable[[], object], times: int = 15) -> float:
        """Median milliseconds on the device, launches already queued."""
        call()
        found = []
        for _ in range(times):
            self._cold.max()
            torch.cuda._sleep(AHEAD_CYCLES)
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            call()
            end.record()
            torch.cuda.synchronize()
            found.append(start.elapsed_time(end))
        return median(found)


def host_us(call: Callable[[], object], times: int = 50) -> float:
    """Median microseconds until a call returns, the device idle before it."""
    call()
    found = []
    for _ in range(times):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        found.append(1e6 * (time.perf_counter() - start))
    torch.cuda.synchronize()
    return median(found)


def kv_pool(slots: int) -> tuple[list[Tensor], SlotBuffers]:
    """K and V of 64 layers, 8 heads x 128, bf16: each layer `[slots, heads, dim]`, with random bytes."""
    buffers = []
    for seed in range(2 * LAYERS):
        torch.manual_seed(seed)
        raw = torch.randint(
            -(1 << 31), (1 << 31) - 1, (slots, HEADS * DIM // 2), dtype=torch.int32, device="cuda"
        )
        buffers.append(raw.view(torch.bfloat16).view(slots, HEADS, DIM))
    return buffers, SlotBuffers([row_view(buffer) for buffer in buffers])
