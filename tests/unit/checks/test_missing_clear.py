"""A clear that nobody made is no finding: what a compression reads is. DSpark and DFlash make none, and need none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.checks.run import check
from speckv_debug.model.finding import Finding, Severity

Line = dict[str, Any]
Build = Callable[..., Any]
HEAD: Line = {
    "pools": [
        {"name": "full", "kind": "full", "slots": 960, "page_size": 1, "reserved_slots": 1},
        {"name": "c128_state", "kind": "c128_state", "slots": 512, "page_size": 1, "reserved_slots": 0},
    ],
    "tables": ["accept", "state_access", "state_clear", "row_alloc"],
    "from_start": True,
}
ALLOC: Line = {"event": "row_alloc", "request": "a", "row": 1, "epoch": 1}
LENGTHS_ONLY: Line = {
    "layout": "chain",
    "topk": 1,
    "predict": [21, 22, 31, 0],
    "accept_index": None,
    "next_token": None,
    "next_sibling": None,
}


def access(action: str, step: int, cells: range, wanted: list[int] | None = None) -> Line:
    line = {"event": "state_access", "step": step, "pool": "c128_state", "request": "a", "row": 1}
    return line | {"action": action, "ring_rows": list(cells), "positions": wanted or list(cells)}


def found(record: Build, algorithm: str, *lines: Line) -> list[Finding]:
    """What all rules of states say."""
    settings = {"algorithm": algorithm, "topk": 1, "num_steps": 3, "num_draft_tokens": 4, "row_width": 128}
    recording = record(*lines, head=HEAD | {"settings": settings})
    rules = ["ST-C128", "ST-RING", "RPL-STATE"]
    return [f for f in check(recording, only=rules).findings if f.severity is not Severity.NOTE]


@pytest.mark.parametrize("algorithm", ["DSPARK", "DFLASH"])
def test_a_chain_that_commits_by_prefix_is_sound_without_a_clear(
    record: Build, verify: Build, algorithm: str
) -> None:
    """Of the window 10 to 13 the rows 10 to 12 are accepted, and written; the next verify finds 13 on empty."""
    lines = [
        ALLOC,
        access("write", 1, range(10)),
        verify(algorithm=algorithm.lower(), **LENGTHS_ONLY),
        access("write", 1, range(10, 13)),
        access("read", 2, range(16), [*range(13), -1, -1, -1]),
    ]
    assert found(record, algorithm, *lines) == []


def test_no_clear_and_nobody_reads_is_no_finding(record: Build, verify: Build) -> None:
    assert found(record, "EAGLE", ALLOC, access("write", 1, range(14)), verify()) == []


def test_no_clear_and_drafts_overwritten_before_the_read_is_no_finding(record: Build, verify: Build) -> None:
    lines = [ALLOC, access("write", 1, range(14)), verify(), access("write", 2, range(13, 17))]
    assert found(record, "EAGLE", *lines, access("read", 2, range(17))) == []


def test_what_is_said_is_what_was_read(record: Build, verify: Build) -> None:
    lines = [ALLOC, access("write", 1, range(14)), verify(), access("read", 2, range(14), [*range(13), -1])]
    (finding,) = found(record, "EAGLE", *lines)
    assert finding.rule == "ST-RING" and finding.first_seq == 3
    said = f"{finding.message} {finding.expected} {finding.actual}"
    assert "is read for the neutral state and holds position 13" in said
    assert "missing" not in said and "not called" not in said
