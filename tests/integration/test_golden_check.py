"""What check prints, byte for byte: `UPDATE_GOLDEN=1 pytest tests/integration/test_golden_check.py` rewrites it."""

from __future__ import annotations

from pathlib import Path

import pytest

from speckv_debug.cli import main
from tests.goldens import golden

TESTS = Path(__file__).parents[1]
CASES = {
    "smallest-example": 0,
    "move-direction-swapped": 1,
    "stale-accept-tail": 1,
    "bonus-from-wrong-stride": 1,
    "last-slot-freed-twice": 1,
    "reserve-not-page-aligned": 1,
    "late-attach": 0,
}
"""Case → exit code of check."""
REPLAYED = ("smallest-example", "stale-accept-tail", "bonus-from-wrong-stride")
"""Cases that are also replayed; the others are judged by the laws alone."""


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("case", CASES)
def test_output_is_the_golden_one(
    case: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = TESTS / "recordings" / "cases" / f"{case}.jsonl"
    assert main(["import", str(source), "-o", f"{case}.speckv"]) == 0
    capsys.readouterr()
    code = main(
        ["check", f"{case}.speckv", "--format", form, "--replay", "on" if case in REPLAYED else "off"]
    )
    out = capsys.readouterr().out
    assert out == golden(f"check/{case}.{form}", out)
    assert code == CASES[case]
