"""The move beside a plain copy of as many bytes, and beside SGLang's own mover where that can be imported.

    python benchmarks/kernel_move.py [--sweep] [--most 65536]

64 layers, K and V, 8 heads x 128, bf16: 256 KiB a slot. Each list is checked before it is timed. "ratio" is the plain
copy's time over ours, both on the device with a cold cache; due are 0.8 from 256 pairs on where no pair reads
what another writes ("apart", "engine") and 0.4 where pairs do.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable

import torch
from timing import SLOT_BYTES, Bench, host_us, kv_pool
from torch import Tensor

from speckv_debug.kernels.move import move_slots
from speckv_debug.kernels.move_triton import Tuning
from speckv_debug.kernels.move_triton import move_slots as tuned
from speckv_debug.kernels.slots import SlotBuffers

SIZES = (16, 64, 80, 128, 255, 256, 257, 512, 1024, 1025, 4096, 16384, 65536)
DUE = {"apart": 0.8, "engine": 0.8, "shift down": 0.4, "shift up": 0.4, "shuffled": 0.4}
Pairs = tuple[Tensor, Tensor]


def pairs_of(kind: str, n: int, slots: int) -> Pairs:
    """A list of `n` pairs over a pool of at least `2 n + 1` slots; slot 0 is padding.

    apart: no source is a target. shift: each reads what its neighbour writes. shuffled: a permutation, so each source is
    a target. engine: pairs apart, but six in ten are padding and three a slot with itself (not timed against a bound
    of bytes moved: its ratio counts a tenth of them).
    """
    generator = torch.Generator().manual_seed(n)
    some = torch.randperm(slots - 1, generator=generator) + 1
    if kind == "apart":
        pair = some[:n], some[n : 2 * n]
    elif kind == "engine":
        pair = some[:n].clone(), some[n : 2 * n].clone()
        fate = torch.rand(n, generator=generator)
        pair[1][fate < 0.9] = pair[0][fate < 0.9]
        pair[0][fate < 0.6] = pair[1][fate < 0.6] = 0
    elif kind == "shuffled":
        pair = some[:n], some[:n][torch.randperm(n, generator=generator)]
    else:
        low, high = torch.arange(1, n + 1), torch.arange(2, n + 2)
        pair = (low, high) if kind == "shift down" else (high, low)
    return pair[0].cuda(), pair[1].cuda()


def is_right(buffers: list[Tensor], pool: SlotBuffers, pairs: Pairs, move: Callable[..., None]) -> bool:
    """Whether some layers hold, after the move, what torch says they should: targets, and a sum over all else."""
    some = buffers[:: max(1, len(buffers) * len(pairs[0]) // 65536)]
    due = [buffer[pairs[1]] for buffer in some]
    touched = torch.zeros(len(buffers[0]), dtype=torch.bool, device="cuda")
    touched[pairs[0]] = True
    rest = [_sum(buffer, ~touched) for buffer in some]
    move(pool, *pairs)
    kept = all(_sum(buffer, ~touched) == total for buffer, total in zip(some, rest, strict=True))
    return kept and all(_equal(buffer[pairs[0]], was) for buffer, was in zip(some, due, strict=True))


def _equal(left: Tensor, right: Tensor) -> bool:
    return torch.equal(left.view(torch.int16), right.view(torch.int16))


def _sum(buffer: Tensor, which: Tensor) -> int:
    words = buffer.view(torch.int32).flatten(1)
    return int((words.sum(1) * which).sum())


def engine_mover(buffers: list[Tensor]) -> Callable[[Tensor, Tensor], None] | None:
    """SGLang's tiled mover as its pool launches it, if the package is there."""
    try:
        from sglang.srt.mem_cache.triton_ops.cache_move import copy_all_layer_kv_cache_tiled as kernel
    except ImportError:
        try:
            from sglang.kernels.ops.kvcache.cache_move import copy_all_layer_kv_cache_tiled as kernel
        except ImportError:
            return None
    pointers = torch.tensor([b.data_ptr() for b in buffers], dtype=torch.uint64).cuda()
    row = buffers[0][0].numel() * 2
    strides = torch.full((len(buffers),), row, dtype=torch.int64).cuda()
    tile = 512 if row >= 8192 else 256 if row >= 4096 else 128
    cap, warps = (128, 8) if tile == 512 else (256, 4)

    def move(targets: Tensor, sources: Tensor) -> None:
        for first in range(0, len(targets), cap):
            t, s = targets[first : first + cap], sources[first : first + cap]
            upper = 1 << (len(t) - 1).bit_length()
            kernel[(len(buffers), -(-row // tile))](
                pointers, strides, t, s, len(t), upper, BYTES_PER_TILE=tile, num_warps=warps, num_stages=2
            )

    return move


def run(bench: Bench, buffers: list[Tensor], pool: SlotBuffers, most: int) -> list[str]:
    """The table; returns what is wrong or too slow."""
    engine, missed = engine_mover(buffers), []
    from_, to = torch.empty(2, min(most, pool.slots // 2) * SLOT_BYTES, dtype=torch.uint8, device="cuda")
    print(
        f"{'pairs':>6} {'list':<11} {'ms':>8} {'GB/s':>6} {'copy ms':>8} {'ratio':>6} {'host us':>8}  SGLang ms"
    )
    for n, kind in itertools.product(SIZES, DUE):
        if n > most:
            continue
        pairs = pairs_of(kind, n, pool.slots)
        moved = int((pairs[0] != pairs[1]).sum())
        if not is_right(buffers, pool, pairs, move_slots):
            missed.append(f"WRONG: {n} pairs, {kind}")
        size = moved * SLOT_BYTES
        ours = bench.device_ms(lambda p=pairs: move_slots(pool, *p))
        copy = bench.device_ms(lambda k=size: to[:k].copy_(from_[:k]))
        theirs = (
            f"{bench.device_ms(lambda p=pairs: engine(*p), 5):9.3f}" if engine and kind == "apart" else ""
        )
        host = host_us(lambda p=pairs: move_slots(pool, *p))
        ratio = copy / ours
        print(
            f"{n:>6} {kind:<11} {ours:8.4f} {2 * size / ours / 1e6:6.0f} {copy:8.4f} {ratio:6.2f} {host:8.0f} {theirs}",
            flush=True,
        )
        if n >= 256 and kind != "engine" and ratio < DUE[kind]:
            missed.append(f"{n} pairs, {kind}: {ratio:.2f} of a copy's bandwidth, due {DUE[kind]}")
    return missed


def sweep(bench: Bench, buffers: list[Tensor], pool: SlotBuffers) -> None:
    """Times for each choice of sizes: the fastest first."""
    lists = [("apart", 256), ("apart", 4096), ("shift up", 4096), ("shuffled", 256), ("shuffled", 4096)]
    choices = [
        Tuning(tile, piece, chunk, warps, per_sm)
        for tile, warps, per_sm in ((16384, 4, 8), (16384, 8, 4), (32768, 8, 4), (32768, 8, 2), (65536, 8, 2))
        for piece, chunk in ((128, 128), (128, 256), (256, 64), (256, 128), (512, 64))
    ]
    for kind, n in lists:
        pairs = pairs_of(kind, n, pool.slots)
        ordered = kind not in ("apart", "engine")
        kept = choices if ordered else [c for c in choices if (c.slice_bytes, c.chunk) == (256, 128)]
        found = sorted((bench.device_ms(lambda c=c, p=pairs: tuned(pool, *p, c), 7), c) for c in kept)
        for ms, choice in found[:4]:
            print(f"{n:>6} {kind:<11} {ms:8.4f} ms {choice}", flush=True)


def main() -> int:
    """Build, check, time, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sweep", action="store_true", help="try other tile sizes")
    parser.add_argument("--most", type=int, default=65536, help="pairs of the longest list")
    args = parser.parse_args()
    buffers, pool = kv_pool(2 * args.most + 2)
    bench = Bench()
    print(
        torch.cuda.get_device_name(),
        "torch",
        torch.__version__,
        "pool",
        f"{pool.slots * SLOT_BYTES / 1e9:.0f} GB",
    )
    if args.sweep:
        sweep(bench, buffers, pool)
        return 0
    missed = run(bench, buffers, pool, args.most)
    print(*(missed or ["all as due"]), sep="\n")
    return bool(missed)


if __name__ == "__main__":
    raise SystemExit(main())
