"""What the kernels around a KV move compute is what the real SGLang computes, bit for bit where it is defined."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.full]

SCRIPT = Path(__file__).with_name("real_move.py")
BOTH = {
    "assign_extend_cache_locs_func",
    "assign_extend_cache_locs, ragged",
    "fill_accept_out_cache_loc",
    "fill_bonus_tokens",
    "move_accept_tokens_to_target_kvcache",
    "_compact_accept_to_front, 1-D",
    "_compact_accept_to_front, 2-D",
    "clear_unaccepted_c128_draft_states",
    "MHATokenToKVPool, tiled",
    "MHATokenToKVPool, native",
    "MHATokenToKVPool, hnd",
    "MLATokenToKVPool",
}
ONLY = {
    "0.5.15": {"commit_mamba_states_after_verify", "move_kv_cache_native, pages"},
    "0.5.23": {
        "assign_extend_cache_locs_uniform_func",
        "fill_front_out_cache_loc",
        "prepare_verify_commit_outputs",
        "fused_commit_track_indices",
        "page_aligned_decode_alloc_lens",
        "DSATokenToKVPool",
        "copy_pages",
    },
}
FEWER = {"move_accept_tokens_to_target_kvcache": 1000}
"""Made of functions that are compared for themselves, and slow to interpret."""


@pytest.mark.parametrize("version", sorted(ONLY))
def test_kernels_equal_the_real_functions(version: str) -> None:
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    command = [sys.executable, "-W", "ignore", str(SCRIPT), str(Path(sys.prefix) / f"sglang-{version}")]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    counts = json.loads(ran.stdout.splitlines()[-1])
    assert counts.keys() == BOTH | ONLY[version]
    assert {name: found["differ"] for name, found in counts.items() if found["differ"]} == {}
    assert all(found["compared"] >= FEWER.get(name, 2000) for name, found in counts.items()), counts
