"""Random settings of the reference engine that together reach all of its ways."""

from __future__ import annotations

import random
from dataclasses import replace

from speckv_debug.collectors.reference.config import EngineConfig, ModelShape
from speckv_debug.collectors.reference.workload import Job, mixed_jobs
from speckv_debug.kernels.reserve import page_ceil

LONGEST = 72  # prompt, output and overshoot of the longest request of `mixed_jobs`


def some_config(seed: int, *, sampling: bool = True) -> EngineConfig:
    """Random settings: draft shape, page, overlap, capture, chunking, and a pool from tight to roomy."""
    draw = random.Random(seed)
    topk, steps = draw.choice([1, 2, 3, 4]), draw.choice([2, 3, 4])
    widest = min(10, 1 + topk + (steps - 1) * topk**2)
    config = EngineConfig(
        seed=seed,
        topk=topk,
        num_steps=steps,
        num_draft_tokens=steps + 1 if topk == 1 else draw.randint(steps + 1, widest),
        page_size=draw.choice([1, 1, 4, 8, 16]),
        slots=16,
        overlap=draw.random() < 0.5,
        captured=draw.random() < 0.5,
        max_prefill_tokens=draw.choice([16, 24, 64]),
        sampling="rejection" if sampling and topk == 1 and draw.random() < 0.4 else "greedy",
    )
    room = (LONGEST + config.reserve) * draw.choice([1.1, 1.6, 2.5])
    return replace(config, slots=page_ceil(int(room), config.page_size))


LONGEST_STATEFUL = 245  # the same of `stateful_jobs`


def some_states(seed: int) -> EngineConfig:
    """Random settings with compressed KV and states beside it: whose C4 state is, whether recurrent, trees and chains."""
    draw = random.Random(seed)
    base = some_config(seed, sampling=False)
    config = replace(
        base,
        compressed=True,
        window=draw.choice([8, 16, 24]),
        eviction_interval=draw.choice([1, 4, 8]),
        page_size=draw.choice([4, 8, 16]),
        slots=16,
        context_len=260,
        max_prefill_tokens=draw.choice([24, 64, 128]),
        c4_state=draw.choice(["page", "request"]),
        c128_page=draw.choice([1, 1, 2]),
        recurrent=draw.random() < 0.5,
        drafting="dspark" if base.topk == 1 and seed % 8 < 4 else "eagle",
        draft_noise=0.02,
        shape=ModelShape(layers=4),
        indexed=draw.choice([None, 24, 48]),
    )
    room = (LONGEST_STATEFUL + config.reserve) * draw.choice([1.1, 1.6, 2.5])
    return replace(config, slots=page_ceil(int(room), config.page_size))


def stateful_jobs(seed: int, *, count: int = 6) -> list[Job]:
    """Clients whose prompts share more than the 128 positions of one entry of C128, some of them."""
    return mixed_jobs(seed, count=count, longest=200)
