"""Each accept kernel in Triton, interpreted, gives what its torch reference gives, bit for bit; compiled: `tests/gpu`."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.accept_checks import CHECKS

FEW = settings(max_examples=25, deadline=None, derandomize=True)


@pytest.mark.skipif(torch.cuda.is_available(), reason="Triton compiles for the device here: pytest -m gpu")
@pytest.mark.parametrize("name", CHECKS)
@given(toss=st.randoms(use_true_random=False))
@FEW
def test_interpreted_kernel_agrees_with_torch(name: str, toss: Random) -> None:
    CHECKS[name](toss, "cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="Triton compiles for the device here: pytest -m gpu")
def test_kernels_take_no_doubles() -> None:
    from speckv_debug.kernels import accept_chain_triton

    with pytest.raises(TypeError, match="float32"):
        accept_chain_triton.as_float32(torch.zeros(3, dtype=torch.float64))


def test_kernels_compile_for_the_device_that_they_are_meant_for(tmp_path: Path) -> None:
    """The interpreter accepts what the compiler refuses."""
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    script = Path(__file__).with_name("compile_accept.py")
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", script], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.split() == ["_greedy", "_target_only", "_chain", "_chain", "_prefix", "_match"]
