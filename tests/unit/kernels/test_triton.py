"""Each Triton kernel, interpreted, gives what its torch reference gives, bit for bit; compiled: `tests/gpu`."""

import os
import subprocess
import sys
from pathlib import Path
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


def test_kernels_compile_for_the_device_that_they_are_meant_for(tmp_path: Path) -> None:
    """The interpreter accepts what the compiler refuses; and bytes must go sixteen at a time."""
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    script = Path(__file__).with_name("compile_move.py")
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", script], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    built = [line.split() for line in ran.stdout.splitlines()]
    assert len(built) == 25
    for name, loads, stores in built:
        if name in ("_copy", "_fingerprint", "_compact"):
            assert int(loads) > 0
        if name == "_compact":
            assert loads == stores
        if name == "_copy":  # the first tile is read where the others are not
            assert int(loads) == int(stores) * 4 // 3
