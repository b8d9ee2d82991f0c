"""Fingerprints of slots beside a torch sum over as many contiguous bytes.

    python benchmarks/kernel_fingerprint.py [--sweep]

64 layers, K and V, 8 heads x 128, bf16: 256 KiB a slot. "ratio" is the fastest torch sum's time over ours, both on the
device with a cold cache; due is 0.6 at 4096 slots. Values are compared with the CPU's first.
"""

from __future__ import annotations

import argparse

import torch
from timing import SLOT_BYTES, Bench, host_us, kv_pool
from torch import Tensor

from speckv_debug.kernels.fingerprint import fingerprints
from speckv_debug.kernels.fingerprint_triton import Tuning
from speckv_debug.kernels.fingerprint_triton import fingerprints as tuned
from speckv_debug.kernels.slots import SlotBuffers, row_view

SIZES = (16, 256, 1024, 4096, 16384)
DUE_AT, DUE = 4096, 0.6


def is_right(buffers: list[Tensor], pool: SlotBuffers, slots: Tensor) -> bool:
    """Whether the device and the CPU agree on some slots."""
    some = slots[:: max(1, len(slots) // 16)]
    here = SlotBuffers([row_view(buffer[some].cpu()) for buffer in buffers])
    return torch.equal(fingerprints(pool, some).cpu(), fingerprints(here, torch.arange(len(some))))


def fastest_sum(bench: Bench, size: int) -> float:
    """Milliseconds of the fastest of torch's sums over so many bytes."""
    raw = torch.ones(size // 4, dtype=torch.int32, device="cuda")
    kinds = (torch.int32, torch.int64, torch.float32, torch.bfloat16)
    return min(bench.device_ms(raw.view(kind).sum) for kind in kinds)


def sweep(bench: Bench, pool: SlotBuffers) -> None:
    """Times for each choice of sizes: the fastest first."""
    slots = torch.randperm(pool.slots)[:DUE_AT].cuda()
    choices = [
        Tuning(tile, rows, warps, per_sm)
        for tile, warps in ((2048, 4), (4096, 4), (4096, 8), (8192, 8))
        for rows in (4, 8, 16)
        for per_sm in (8, 16, 32)
    ]
    found = sorted((bench.device_ms(lambda c=c: tuned(pool, slots, c), 7), c) for c in choices)
    for ms, choice in found[:12]:
        print(f"{ms:8.4f} ms {DUE_AT * SLOT_BYTES / ms / 1e6:6.0f} GB/s {choice}")


def main() -> int:
    """Build, check, time, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sweep", action="store_true", help="try other tile sizes")
    args = parser.parse_args()
    buffers, pool = kv_pool(2 * SIZES[-1])
    bench, missed = Bench(), []
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    if args.sweep:
        sweep(bench, pool)
        return 0
    print(f"{'slots':>6} {'ms':>8} {'GB/s':>6} {'sum ms':>8} {'ratio':>6} {'host us':>8}")
    for n in SIZES:
        slots = torch.randperm(pool.slots)[:n].cuda()
        if not is_right(buffers, pool, slots):
            missed.append(f"WRONG: {n} slots")
        ours = bench.device_ms(lambda s=slots: fingerprints(pool, s))
        due = fastest_sum(bench, n * SLOT_BYTES)
        host = host_us(lambda s=slots: fingerprints(pool, s))
        print(
            f"{n:>6} {ours:8.4f} {n * SLOT_BYTES / ours / 1e6:6.0f} {due:8.4f} {due / ours:6.2f} {host:8.0f}",
            flush=True,
        )
        if n == DUE_AT and due / ours < DUE:
            missed.append(f"{n} slots: {due / ours:.2f} of a sum's bandwidth, due {DUE}")
    print(*(missed or ["all as due"]), sep="\n")
    return bool(missed)


if __name__ == "__main__":
    raise SystemExit(main())
