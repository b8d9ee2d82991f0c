"""What history and state print, byte for byte: `UPDATE_GOLDEN=1 pytest tests/integration/test_golden_history.py` rewrites it."""

from __future__ import annotations

from pathlib import Path

import pytest

from speckv_debug.cli import main
from tests.goldens import golden

TESTS = Path(__file__).parents[1]
CASES = {
    "slot": ("history", "--slot", "255"),
    "page": ("history", "--page", "3"),
    "row": ("history", "--row", "2"),
    "state": ("state", "--at", "30"),
}


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("case", CASES)
def test_output_is_the_golden_one(
    case: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = TESTS / "recordings" / "real" / "eagle_k4_p64_sync.jsonl.xz"
    assert main(["import", str(source), "-o", "run.speckv"]) == 0
    capsys.readouterr()
    command, *options = CASES[case]
    assert main([command, "run.speckv", *options, "--format", form]) == 0
    out = capsys.readouterr().out
    assert out == golden(f"history/{case}.{form}", out)
