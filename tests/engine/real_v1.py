"""A round of NGRAM's worker of the first kind (0.5.13) on the CPU: its own allocation, acceptance and frees.

    python tests/engine/real_v1.py DIR

DIR is the folder that holds the package `sglang`. The target's choices are given; prints the recorded events and the
slots that the allocator has free afterwards.
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

WIDTH, LENGTHS = 3, [4, 6]
ACCEPTED = [[0, 2, -1], [3, -1, -1]]
"""The first request keeps its root and its second draft, the second its root."""


def main() -> None:
    """Boot, hook, one round, print."""
    building.boot(sys.argv[1], 1, "triton")
    import sglang.srt.speculative.ngram_info as module
    import torch
    from sglang.srt.mem_cache.allocator.token import TokenToKVPoolAllocator

    module.verify_tree_greedy = _choose
    allocator = TokenToKVPoolAllocator(32, torch.float32, "cpu", None, False)
    allocator.alloc(sum(LENGTHS))
    batch, verified = _batch(allocator), _verify_input(module)
    events = Events(allocator)
    with events.recording("NGRAM"):
        verified.prepare_for_verify(batch, 1)
        granted = batch.out_cache_loc.tolist()
        logits = SimpleNamespace(next_token_logits=torch.zeros(2 * WIDTH, 8), hidden_states=None)
        verified.verify(batch, logits, 1)
    told = {"granted": granted, "free": sorted(allocator.free_pages.tolist()), "failures": events.failures}
    print(json.dumps({"events": events.rows, **told}))


def _choose(*, predicts: Any, accept_index: Any, accept_token_num: Any, **others: Any) -> None:
    import torch

    predicts.fill_(1)
    accept_index.copy_(torch.tensor(ACCEPTED, dtype=accept_index.dtype))
    accept_token_num.copy_(torch.tensor([1, 0], dtype=accept_token_num.dtype))


def _verify_input(module: Any) -> Any:
    import torch

    rows = torch.arange(2 * WIDTH)
    links = torch.full((2, WIDTH), -1)
    mask = torch.ones(2 * WIDTH * WIDTH, dtype=torch.bool)
    return module.NgramVerifyInput(rows, mask, rows, rows.reshape(2, WIDTH), links, links, WIDTH)


def _batch(allocator: Any) -> Any:
    import torch

    table = torch.zeros(3, 32, dtype=torch.int32)
    reqs = [_request(row, length) for row, length in zip((1, 2), LENGTHS, strict=True)]
    tree = SimpleNamespace(
        is_chunk_cache=lambda: True, is_tree_cache=lambda: False, token_to_kv_pool_allocator=allocator
    )
    greedy = _Sampling(
        has_custom_logit_processor=False,
        penalizer_orchestrator=SimpleNamespace(is_required=False),
        logit_bias=None,
        is_all_greedy=True,
    )
    return SimpleNamespace(
        reqs=reqs,
        batch_size=lambda: 2,
        forward_mode=SimpleNamespace(is_idle=lambda: False),
        tree_cache=tree,
        token_to_kv_pool_allocator=allocator,
        req_to_token_pool=SimpleNamespace(req_to_token=table),
        req_pool_indices=torch.tensor([1, 2]),
        seq_lens=torch.tensor(LENGTHS),
        seq_lens_cpu=torch.tensor(LENGTHS),
        seq_lens_sum=sum(LENGTHS),
        sampling_info=greedy,
        model_config=SimpleNamespace(think_end_id=None),
    )


class _Sampling(SimpleNamespace):
    def __len__(self) -> int:
        return 2


def _request(row: int, length: int) -> Any:
    return SimpleNamespace(
        rid=f"r{row}",
        req_pool_idx=row,
        kv_committed_len=length,
        kv_allocated_len=length,
        output_ids=[],
        grammar=None,
        require_reasoning=False,
        spec_verify_ct=0,
        spec_num_correct_drafts=0,
        update_finish_state=lambda: None,
        finished=lambda: False,
        update_spec_correct_drafts_histogram=lambda count: None,
    )


if __name__ == "__main__":
    main()
