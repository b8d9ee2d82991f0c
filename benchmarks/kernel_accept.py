"""The accept kernels on the device: beside their torch reference, beside SGLang's compiled ones, the law, and speed.

    python benchmarks/kernel_accept.py [--seeds 25] [--cpu]

Needs no pytest; SGLang 0.5.15 and sgl_kernel are compared where they can be imported. With `--cpu` only the speed of
the torch reference on the CPU is taken.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from speckv_debug.kernels import accept
from tests import accept_cases as cases
from tests.accept_checks import CHECKS, DEPTH, chi_square, chi_square_bound, drawn_outputs
from tests.accept_cuda import COMPARISONS, tie_rule

RULES = {
    "classic": accept.verify_chain_rejection,
    "block": partial(accept.verify_chain_rejection, block=True),
    "target_only": partial(accept.verify_tree_target_only, width=DEPTH),
}


def check_all(seeds: range) -> None:
    """Ours against ours."""
    for name, check in CHECKS.items():
        for seed in seeds:
            check(Random(seed), "cuda", times=60)
        print(f"{name}: {len(seeds)} cases agree with torch", flush=True)
    for rule, verify in RULES.items():
        statistic = chi_square(drawn_outputs(rule, verify, 1_000_000, "cuda"))
        assert statistic < chi_square_bound(), (rule, statistic)
        print(f"{rule}: chi-square {statistic:.1f}, below {chi_square_bound():.1f}", flush=True)


def compare_all(seeds: range) -> int:
    """Ours against SGLang's; returns how many functions could not be imported."""
    missing = 0
    for name, compare in COMPARISONS.items():
        try:
            print(f"{name}: {compare(seeds)} requests agree", flush=True)
        except ImportError as error:
            missing += 1
            print(f"{name}: NOT COMPARED, {error}", flush=True)
    try:
        from sgl_kernel import tree_speculative_sampling_target_only
    except ImportError:
        return missing
    print("target-only of this sgl_kernel:", tie_rule(tree_speculative_sampling_target_only))
    return missing


def milliseconds(call: Callable[[], object], device: str, times: int = 20) -> float:
    """The best of some runs, wall time."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        call()
        if device == "cuda":
            torch.cuda.synchronize()
        best = min(best, 1e3 * (time.perf_counter() - start))
    return best


def speed(device: str) -> None:
    """Greedy verification of trees of 8 rows, paths of up to 5, as replay does it."""
    for requests in (64, 8_192, 65_536):
        toss = cases.seeded(0)
        tree = cases.tree(toss, requests, 8, 4)
        args = [t.int().to(device) for t in (*tree, cases.tokens(toss, requests, 8, 4))]
        taken = milliseconds(lambda args=args: accept.verify_tree_greedy(*args, 5), device)  # type: ignore[misc]
        rate = requests / taken * 1e3
        print(
            f"{device}: {requests} requests in {taken:.3f} ms, {rate:,.0f} request-steps a second", flush=True
        )


def main() -> int:
    """Run all, say what ran."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(min(2, torch.get_num_threads()))
    if options.cpu:
        speed("cpu")
        return 0
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    check_all(range(options.seeds))
    missing = compare_all(range(options.seeds))
    speed("cpu")
    speed("cuda")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
