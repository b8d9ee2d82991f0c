"""A tenth of the inputs of `test_kernels_accept.py` and `test_kernels_locate_move.py`, for every run of the tests."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine import test_kernels_accept as accept
from tests.engine import test_kernels_locate_move as move

pytestmark = pytest.mark.engine

SCRIPT = Path(__file__).with_name("real_kernels.py")
SHARE = 0.1


@pytest.mark.parametrize("release", ["0.5.15", "0.5.23"])
def test_kernels_equal_the_real_functions(release: str) -> None:
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    folder = Path(sys.prefix) / f"sglang-{release}"
    assert folder.is_dir(), "make setup-test fetches it"
    command = [sys.executable, "-W", "ignore", str(SCRIPT), str(folder), str(SHARE)]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    counts = json.loads(ran.stdout.splitlines()[-1])
    for name, requests in accept.DUE[release].items():
        assert counts["accept"][name]["requests"] >= SHARE * requests, name
    for name in move.BOTH | move.ONLY[release]:
        assert counts["move"][name]["compared"] >= SHARE * move.FEWER.get(name, 2000), name
    assert {name: count for name, count in counts["accept"].items() if count["different"]} == {}
    assert {name: count for name, count in counts["move"].items() if count["differ"]} == {}
