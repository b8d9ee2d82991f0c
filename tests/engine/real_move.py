"""Our kernels around the KV move beside the real SGLang functions, on random inputs, on the CPU.

    python tests/engine/real_move.py DIR [SHARE]

DIR is the folder that holds the package `sglang`, SHARE the part of all inputs to take (1). Prints one JSON object: for each function that the release has how
many requests (or moved pairs) went through both, and how many came out different.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

import building
import real_pools
from beside import counts, find, some, tally

from speckv_debug.kernels import compact, locate, reserve, state
from tests.interpreted import interpret_faster
from tests.locate_cases import Batch, batch_of

SPECULATIVE = ("kernels.ops.speculative", "srt.speculative.triton_ops")
LOCS = tuple(f"{place}.cache_locs" for place in SPECULATIVE)
EAGLE = tuple(f"{place}.eagle" for place in SPECULATIVE)


def power(n: int) -> int:
    """The next power of two."""
    return 1 << max(n - 1, 0).bit_length()


def batches(requests: int = 2000, most: int = 40) -> list[Batch]:
    """Batches of verifies, none of them empty, of so many requests together at least."""
    found: list[Batch] = []
    seed = 0
    while sum(len(batch.rows) for batch in found) < some(requests):
        batch = batch_of(Random(seed), most)
        found += [batch] * (len(batch.rows) > 0)
        seed += 1
    return found


def extended() -> None:
    """Cache locations read from the request table: uniform, ragged."""
    func, kernel = (find(f"assign_extend_cache_locs{tail}", *LOCS) for tail in ("_func", ""))
    uniform = find("assign_extend_cache_locs_uniform_func", *LOCS)
    for b in batches():
        bs, grid = len(b.rows), b.table.view(-1, b.row_width)
        due = locate.row_slots(b.table, b.row_width, b.rows, b.seq_lens, b.w).flatten()
        got = func(b.rows, grid, b.seq_lens, b.seq_lens + b.w, bs, b.w, "cpu")
        tally("assign_extend_cache_locs_func", bs, due, got)
        if uniform:
            got = uniform(b.rows, grid, b.seq_lens, bs, b.w, "cpu")
            tally("assign_extend_cache_locs_uniform_func", bs, due, got)
        ends, got = b.seq_lens + b.accept_lens, torch.zeros(b.accept_index.numel(), dtype=torch.int64)
        kernel[(bs,)](b.rows, grid, b.seq_lens, ends, got, b.row_width, power(bs))
        due = locate.row_slots_ragged(b.table, b.row_width, b.rows, b.seq_lens, ends, len(got))
        tally("assign_extend_cache_locs, ragged", bs, due, got)


def filled() -> None:
    """Sources, targets from the window, bonus tokens, the fused commit."""
    accept, accept_kernel = (find(f"fill_accept_out_cache_loc{tail}", *EAGLE) for tail in ("_func", ""))
    front = find("fill_front_out_cache_loc_func", *LOCS)
    commit = find("prepare_verify_commit_outputs", *EAGLE)
    for b in batches():
        bs, size, window = len(b.rows), b.accept_index.numel(), b.out_cache_loc.flatten()
        got = torch.zeros(size, dtype=torch.int64)
        if accept:
            accept(b.accept_index, window, got, size)
        else:
            accept_kernel[(size,)](b.accept_index, window, got, power(size))
        tally("fill_accept_out_cache_loc", bs, locate.accepted_sources(window, b.accept_index), got)
        if front:
            got = torch.zeros(size, dtype=torch.int64)
            front(b.accept_lens, window, got)
            tally(
                "fill_front_out_cache_loc", bs, locate.front_slots(b.out_cache_loc, b.accept_lens, size), got
            )
        tokens = torch.randint(5000, (bs * b.w,), dtype=torch.int32)
        _bonus(b, tokens)
        if commit:
            lens, bonus = commit(tokens, b.accept_index, b.accept_lens, b.seq_lens)
            due = locate.commit_outputs(tokens, b.accept_index, b.accept_lens, b.seq_lens)
            tally("prepare_verify_commit_outputs", bs, torch.stack(due), torch.stack((lens, bonus.long())))


def _bonus(b: Batch, tokens: Tensor) -> None:
    func, kernel = (find(f"fill_bonus_tokens{tail}", *EAGLE) for tail in ("_func", ""))
    got = torch.zeros(len(b.rows), dtype=torch.int32)
    if func:
        func(tokens, b.accept_lens, got, b.w, len(b.rows))
    else:
        kernel[(len(b.rows),)](tokens, b.accept_lens, got, b.w)
    tally("fill_bonus_tokens", len(b.rows), locate.bonus_tokens(tokens, b.accept_lens, b.w), got)


def accepted() -> None:
    """`move_accept_tokens_to_target_kvcache` whole: the list that it hands to the pool."""
    real = find("move_accept_tokens_to_target_kvcache", "srt.speculative.spec_utils")
    window = find("fill_front_out_cache_loc_func", *LOCS) is not None
    lists: list[tuple[Tensor, Tensor]] = []
    pool = SimpleNamespace(move_kv_cache=lambda *pair: lists.append(pair))
    for b in batches(1000):
        batch = SimpleNamespace(
            seq_lens=b.seq_lens,
            out_cache_loc=b.out_cache_loc.flatten(),
            req_pool_indices=b.rows,
            req_to_token_pool=SimpleNamespace(req_to_token=b.table.view(-1, b.row_width)),
        )
        real(batch, b.accept_index, b.accept_lens - 1, SimpleNamespace(get_kvcache=lambda: pool))
        targets, sources = locate.accepted_pairs(b.out_cache_loc, b.accept_index, b.accept_lens)
        if not window:  # the releases before read targets from the table
            ends = b.seq_lens + b.accept_lens
            targets = locate.row_slots_ragged(b.table, b.row_width, b.rows, b.seq_lens, ends, len(sources))
        due = torch.stack((targets, sources))
        tally("move_accept_tokens_to_target_kvcache", len(b.rows), due, torch.stack(lists.pop()))


def compacted() -> None:
    """Predict and hidden states; all that the engine defines and what it leaves behind."""
    func = find("_compact_accept_to_front", "srt.speculative.eagle_worker_common")
    worker = find("EAGLEWorkerV2", "srt.speculative.eagle_worker_v2")
    for b in batches():
        for x in (
            torch.randint(9000, (b.out_cache_loc.numel(),)).int(),
            torch.rand(b.out_cache_loc.numel(), 6),
        ):
            bs = len(b.rows)
            if func:
                got = func(x, b.accept_index, bs, num_draft_tokens=b.w)
            else:
                holder = SimpleNamespace(speculative_num_draft_tokens=b.w)
                got = worker._compact_accept_to_front(holder, x, b.accept_index, bs)
            due = compact.compact_accepted(x, b.accept_index, b.w)
            tally(f"_compact_accept_to_front, {x.dim()}-D", bs, due.view(torch.int32), got.view(torch.int32))


def cleared() -> None:
    """C128 rings, through the pool's own method over all its layers."""
    pool_class = find("DeepSeekV4TokenToKVPool", "srt.mem_cache.deepseek_v4_memory_pool")
    name = "clear_unaccepted_c128_draft_states"
    toss = Random(5)
    for b in batches():
        ring, half = toss.choice([16, 128]), toss.choice([6, 200])
        rings = torch.rand((len(b.rows) + 3) * ring, 2 * half)
        layers = [rings.clone() for _ in range(1 if counts.get(name) else 2)]
        pools = [
            SimpleNamespace(ratio=128, ring_size=ring, kv_score_buffer=SimpleNamespace(kv_score=x))
            for x in layers
        ]
        holder = SimpleNamespace(compress_state_pools=[None, *pools, SimpleNamespace(ratio=4)])
        getattr(pool_class, name)(holder, b.rows, b.seq_lens, b.accept_lens, b.w)
        if b.w > 1:  # a single row is its request's root, which is always accepted
            requests = (b.rows, b.seq_lens, b.accept_lens)
            state.clear_unaccepted_rows(rings, *requests, ring_size=ring, num_draft_tokens=b.w)
        for layer in layers:
            tally(name, len(b.rows), rings.view(torch.int32), layer.view(torch.int32))


def kept() -> None:
    """The recurrent state's step to keep, and the one to track."""
    fused = find("fused_commit_track_indices", "kernels.ops.mamba.mamba_state_scatter_triton")
    eager = find("commit_mamba_states_after_verify", "srt.speculative.spec_utils")
    for b in batches():
        steps = state.commit_steps(b.accept_index, b.accept_lens, b.w)
        tracked = state.track_steps(b.accept_index, b.accept_lens, b.seq_lens, b.w, 4)
        due = torch.stack((steps, tracked))
        if fused:
            got = fused(b.accept_index, b.accept_lens, b.seq_lens, b.w, 4)
            tally("fused_commit_track_indices", len(b.rows), due, torch.stack(got))
            continue
        caught: dict[str, Any] = {}
        backend = SimpleNamespace(
            update_mamba_state_after_mtp_verify=lambda into=caught, **given: into.update(given)
        )
        runner = SimpleNamespace(mambaish_config=True, attn_backend=backend, model=None)
        mode = SimpleNamespace(is_idle=lambda: False)
        batch = SimpleNamespace(forward_mode=mode, mamba_track_indices=True, seq_lens=b.seq_lens)
        module = importlib.import_module(eager.__module__)
        module.get_global_server_args = lambda: SimpleNamespace(mamba_track_interval=4)
        eager(SimpleNamespace(model_runner=runner), batch, b.accept_lens, b.accept_index, b.w)
        got = [caught[key].long() for key in ("last_correct_step_indices", "mamba_steps_to_track")]
        tally("commit_mamba_states_after_verify", len(b.rows), due, torch.stack(got))


def reserved() -> None:
    """Page-aligned growth, where the release has a function for it."""
    real = find("page_aligned_decode_alloc_lens", "srt.mem_cache.allocation_sizing")
    toss = Random(3)
    for _ in range(some(60) if real else 0):
        page, room = toss.choice([1, 4, 16, 64, 128]), toss.randrange(1, 300)
        held = [(toss.randrange(5000), toss.randrange(5000)) for _ in range(50)]
        kvs = [SimpleNamespace(kv_allocated_len=k, kv_committed_len=c) for k, c in held]
        now, then, needed = real([SimpleNamespace(kv=kv) for kv in kvs], reserve=room, page_size=page)
        due = [reserve.grown_length(k, c, room, page) for k, c in held]
        tally("page_aligned_decode_alloc_lens", len(held), torch.tensor(due), torch.tensor(then))
        assert now == [k for k, _ in held] and needed == sum(due) - sum(now)


def compare() -> None:
    """All functions that the release has."""
    for part in (extended, filled, accepted, compacted, cleared, kept, reserved, real_pools.moved):
        part()


def main() -> None:
    """Boot, compare, print."""
    building.boot(sys.argv[1], 1, "triton")
    interpret_faster()
    compare()
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
