"""What check prints, byte for byte: `UPDATE_GOLDEN=1 pytest tests/integration/test_golden_check.py` rewrites it."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from speckv_debug.checks import RULES
from speckv_debug.checks.run import check
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.terminal import json, text

TESTS = Path(__file__).parents[1]
FAMILIES = ("ACC", "LOC", "MOV")
CASES = (
    "smallest-example",
    "move-direction-swapped",
    "stale-accept-tail",
    "bonus-from-wrong-stride",
    "late-attach",
)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("case", CASES)
def test_output_is_the_golden_one(case: str, form: str, tmp_path: Path) -> None:
    import_jsonl(TESTS / "recordings" / "cases" / f"{case}.jsonl", tmp_path / f"{case}.speckv")
    recording, out = Recording.open(tmp_path / f"{case}.speckv"), io.StringIO()
    result = check(recording, only=[rule for rule in RULES if rule.startswith(FAMILIES)])
    if form == "text":
        text.render(result, recording, out)
    else:
        json.render(result, out)
    golden = TESTS / "golden" / "check" / f"{case}.{form}"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(out.getvalue())
    assert out.getvalue() == golden.read_text()
