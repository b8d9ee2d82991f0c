"""Each Triton kernel gives what its torch reference gives, bit for bit: interpreted here, on the device where one is.

The checks draw their cases themselves; `python benchmarks/kernel_check.py` runs them without pytest.
"""

from random import Random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.locate_cases import CHECKS
from tests.slot_cases import check_fingerprint, check_move

ALL = CHECKS | {"move": check_move, "fingerprint": check_fingerprint}
FEW = settings(max_examples=25, deadline=None, derandomize=True)


@pytest.mark.skipif(torch.cuda.is_available(), reason="Triton compiles for the device here: pytest -m gpu")
@pytest.mark.parametrize("name", ALL)
@given(toss=st.randoms(use_true_random=False))
@FEW
def test_interpreted_kernel_agrees_with_torch(name: str, toss: Random) -> None:
    ALL[name](toss, "cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("seed", range(40))
def test_compiled_kernel_agrees_with_torch(name: str, seed: int) -> None:
    ALL[name](Random(seed), "cuda")


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(20))
def test_long_lists_are_moved_from_a_snapshot(seed: int) -> None:
    check_move(Random(seed), "cuda", slots=20_000, most=6_000)
