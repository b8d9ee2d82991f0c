"""The recording of the benchmarks keeps every law and replays without a difference."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from speckv_debug.checks.run import check
from speckv_debug.recording.reader import Recording

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "long_run.py"


@pytest.fixture
def make(tmp_path: Path) -> Callable[[int], Recording]:
    """One wave of a single life a row, with so few tokens that those of two rows would often be the same."""

    def build(page_size: int) -> Recording:
        module: dict[str, Any] = runpy.run_path(str(SCRIPT))
        write = module["make"]
        write.__globals__.update(LIVES=1, VOCABULARY=3)
        write(tmp_path / "long.speckv", 1, page_size)
        return Recording.open(tmp_path / "long.speckv")

    return build


@pytest.mark.parametrize("page_size", [1, 16])
def test_the_long_run_is_clean(make: Callable[[int], Recording], page_size: int) -> None:
    result = check(make(page_size), on_error=lambda rule, error: pytest.fail(f"{rule}: {error!r}"))
    assert not result.findings
    assert {rule: result.checked[rule] for rule in ("RPL-ACCEPT", "RPL-BONUS", "RPL-LEN", "RPL-COMPACT")} == {
        "RPL-ACCEPT": 3200, "RPL-BONUS": 3200, "RPL-LEN": 3200, "RPL-COMPACT": 3200,
    }  # fmt: skip
    assert result.checked["RPL-MOVE"] == 3200 and result.checked["RPL-SHADOW"] > 3000
