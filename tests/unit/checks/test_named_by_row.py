"""A finding about an event that names a row and an epoch alone says whose they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from speckv_debug.checks.run import check
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording

SOURCE = Path(__file__).parents[2] / "recordings" / "rules" / "OWN-REF" / "fail.jsonl"
ROW = "table_write"
"""Events of this kind name no request."""


@pytest.mark.parametrize(("told", "due"), [(True, "b"), (False, None)])
def test_the_request_of_a_row_is_named_if_any_event_says_it(
    told: bool, due: str | None, tmp_path: Path
) -> None:
    lines = [json.loads(line) for line in SOURCE.read_text().splitlines()]
    kept = [line if told else {k: v for k, v in line.items() if k != "request"} for line in lines]
    assert all("request" not in line for line in kept if line["event"] == ROW)
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, kept)))
    import_jsonl(tmp_path / "x.jsonl", tmp_path / "x.speckv")
    found = check(Recording.open(tmp_path / "x.speckv"), only=["OWN-REF"]).findings
    assert {each.request for each in found if each.row == 2} == {due}
