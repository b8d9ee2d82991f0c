"""Each Triton kernel around the KV move on the device beside its torch reference, without pytest.

    python benchmarks/kernel_check.py [--seeds 200]

The cases are those of `tests/unit/kernels/test_triton.py`; besides: long lists, a pool beyond 2^31 elements, and a CUDA
graph that is replayed with other pairs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from speckv_debug.kernels.fingerprint import fingerprints
from speckv_debug.kernels.move import move_slots
from speckv_debug.kernels.slots import SlotBuffers, row_view
from tests.locate_cases import CHECKS
from tests.slot_cases import check_fingerprint, check_move


def check_far_slots() -> None:
    """Slots behind element 2^31 and byte 2^33."""
    slots = (1 << 33) // 2048 + 9000
    far = torch.zeros(slots, 512, dtype=torch.int32, device="cuda")
    assert far.numel() > 1 << 31
    content = torch.arange(slots - 4096, slots, device="cuda", dtype=torch.int32)
    far[-4096:] = content[:, None] + torch.arange(512, device="cuda", dtype=torch.int32)
    pool = SlotBuffers([row_view(far)])
    shuffle = torch.randperm(4096, device="cuda")
    targets, sources = torch.arange(4096, device="cuda") + slots - 4096, shuffle + slots - 4096
    before, due = fingerprints(pool, sources), far[sources]
    move_slots(pool, targets, sources)
    assert torch.equal(far[targets], due)
    assert torch.equal(fingerprints(pool, targets), before)
    assert not bool(far[:-4096].any())
    move_slots(pool, targets - targets.min(), targets)
    assert torch.equal(far[:4096], due)


def check_graph() -> None:
    """A captured move follows the pairs that stand in its buffers when it is replayed."""
    buffer = torch.arange(3000 * 64, dtype=torch.int32, device="cuda").view(3000, 64)
    pool = SlotBuffers([row_view(buffer)])
    targets, sources = (torch.zeros(1500, dtype=torch.int64, device="cuda") for _ in range(2))
    move_slots(pool, targets, sources)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        move_slots(pool, targets, sources)
    for seed in range(20):
        torch.manual_seed(seed)
        targets.copy_(torch.randperm(3000, device="cuda")[:1500])
        sources.copy_(torch.randint(3000, (1500,), device="cuda"))
        due = buffer[sources]
        graph.replay()
        assert torch.equal(buffer[targets], due), seed
        assert bool((pool.claims == -1).all())


def main() -> None:
    """Run all, say what ran."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=200)
    seeds = range(parser.parse_args().seeds)
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    for name, check in (CHECKS | {"move": check_move, "fingerprint": check_fingerprint}).items():
        for seed in seeds:
            check(Random(seed), "cuda")
        print(f"{name}: {len(seeds)} cases agree", flush=True)
    for seed in seeds[:50]:
        check_move(Random(seed), "cuda", slots=40_000, most=9_000)
        check_fingerprint(Random(seed), "cuda", slots=40_000, most=3_000)
        CHECKS["locate"](Random(seed), "cuda", 3_000)  # type: ignore[call-arg]
    print("long lists agree", flush=True)
    for check_one in (check_far_slots, check_graph):
        check_one()
        print(f"{check_one.__name__}: ok", flush=True)


if __name__ == "__main__":
    main()
