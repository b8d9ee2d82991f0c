"""A finding about an event that names a row alone says whose row it is."""

from __future__ import annotations

import json
from pathlib import Path

from speckv_debug.checks.run import check
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording

SOURCE = Path(__file__).parents[2] / "recordings" / "rules" / "OWN-REF" / "fail.jsonl"


def found(lines: list[dict[str, object]], folder: Path) -> set[str | None]:
    """The requests that findings of OWN-REF name."""
    path = folder / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    import_jsonl(path, folder / "x.speckv")
    result = check(Recording.open(folder / "x.speckv"), only=["OWN-REF"])
    return {finding.request for finding in result.findings}


def test_a_count_that_an_event_of_a_row_tells_wrong_is_its_requests(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in SOURCE.read_text().splitlines()]
    counted = next(line for line in lines if line["event"] == "page_ref" and "row" in line)
    counted.update(count_after=[2], epoch=1)
    assert "a" in found(lines, tmp_path)


def test_a_row_of_which_no_event_says_the_request_has_none(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in SOURCE.read_text().splitlines()]
    counted = next(line for line in lines if line["event"] == "page_ref" and "row" in line)
    counted.update(count_after=[2], epoch=1)
    assert None in found([{k: v for k, v in line.items() if k != "request"} for line in lines], tmp_path)
