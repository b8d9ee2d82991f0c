"""Our accept kernels do what the real SGLang functions do, bit for bit where the outcome is defined."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.full]

SCRIPT = Path(__file__).parent / "real_accept.py"
BOTH = {
    "verify_tree_greedy": 2000,
    "chain_speculative_sampling, classic, exact": 1000,
    "chain_speculative_sampling, classic, rounded": 200,
    "chain_speculative_sampling, classic, q out of range": 400,
    "generate_simulated_accept_index, fixed": 2000,
    "generate_simulated_accept_index, fixed, whole predict": 100,
    "generate_simulated_accept_index, real-draft-token": 2000,
    "compute_dflash_correct_drafts_and_bonus": 1000,
    "dflash accept_bonus kernel": 1000,
}
LATER = {
    "chain_speculative_sampling, block, exact": 1000,
    "chain_speculative_sampling, block, rounded": 200,
    "chain_speculative_sampling, block, q out of range": 400,
    "simulated_accept (fused), fixed": 1000,
    "simulated_accept (fused), real-draft-token": 1000,
    "dflash fused correct_drafts kernel": 1000,
    "dflash _commit_accept": 1000,
    "dspark accept_greedy_triton, capped": 1000,
    "dspark build_out_tokens_triton": 1000,
}
DUE = {"0.5.15": BOTH, "0.5.23": BOTH | LATER}


@pytest.mark.parametrize(("release", "due"), DUE.items())
def test_no_request_comes_out_different(release: str, due: dict[str, int]) -> None:
    folder = Path(sys.prefix) / f"sglang-{release}"
    assert folder.is_dir(), "make setup-test fetches it"
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", SCRIPT, folder],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    counts = json.loads(ran.stdout.splitlines()[-1])
    for name, requests in due.items():
        assert counts[name]["requests"] >= requests, name
    assert {name: count for name, count in counts.items() if count["different"]} == {}
    unsure = sum(count["only rounding"] for count in counts.values())
    assert unsure <= 0.01 * sum(count["requests"] for count in counts.values())
