"""Plans of compressors (DeepSeek-V4), made by SGLang's own planner, compiled for the host: what is recorded and judged of them."""

from __future__ import annotations

from typing import Any

import pytest
from test_families import recorded, run

FULL = {"name": "full", "kind": "full", "slots": 3072, "page_size": 1, "reserved_slots": 1}
FULL |= {"namespace": "target", "owner": "page"}
SETTINGS = {"algorithm": "EAGLE", "topk": 1, "num_draft_tokens": 4, "c4_ring_size": 16}


@pytest.fixture(scope="module")
def runs() -> dict[str, Any]:
    """All runs of real_plans.py."""
    return run("real_plans.py")


def judged(told: dict[str, Any]) -> Any:
    """What the rules say of one of them."""
    assert told["failures"] == []
    assert [(pool["kind"], pool["owner"]) for pool in told["pools"]] == [
        ("c128_state", "request"),
        ("c4_state", "page"),
    ]
    made = recorded(
        told, pools=[FULL, *told["pools"]], settings=SETTINGS, also=("state_access", "state_clear")
    )
    return made.check("ST-RING", "ST-C128")


def accesses(told: dict[str, Any], **of: Any) -> list[dict[str, Any]]:
    """Events of `state_access` that name cells."""
    found = [event for event in told["events"] if event["event"] == "state_access" and event["positions"]]
    return [event for event in found if all(event.get(name) == value for name, value in of.items())]


def test_compressors_read_what_stands_where_they_look(runs: dict[str, Any]) -> None:
    result = judged(runs["none"])
    assert result.findings == ()
    assert not [unknown for unknown in result.unknown if unknown.instances]
    assert result.checked["ST-RING"] >= 36 and result.checked["ST-C128"] == 8


@pytest.mark.full
@pytest.mark.parametrize("release", ["0.5.21", "0.5.22"])
def test_other_releases_plan_the_same(release: str) -> None:
    """The planner of earlier ones is written for the threads of a warp, and can't be compiled for the host."""
    told = run("real_plans.py", release=release)
    result = judged(told["none"])
    assert result.findings == () and result.checked["ST-RING"] >= 36 and result.checked["ST-C128"] == 8
    for planted in ("no-pad", "other-row"):
        findings = judged(told[planted]).findings
        assert {finding.rule for finding in findings if finding.cause is None} == {"ST-RING"}


def test_a_boundary_that_was_rejected_is_compressed_again(runs: dict[str, Any]) -> None:
    """Lengths 126, 127, 131, 134, 135: verifies from 126 and 127 both end the group at 127, each reads up to its own start."""
    reads = [event["positions"] for event in accesses(runs["none"], pool="c128_state", action="read")]
    assert reads == [list(range(126)), list(range(127))]
    assert {event["row"] for event in accesses(runs["none"], pool="c128_state")} == {1, 2}


def test_a_verify_keeps_all_that_a_rejection_may_leave_to_be_compressed(runs: dict[str, Any]) -> None:
    """The verify from 126 compresses at 127, and yet writes 126 and 127: one row of it alone may be accepted."""
    first = accesses(runs["none"], pool="c128_state", action="write", request="a")[1]
    assert first["positions"] == [126, 127, 128, 129] and first["ring_rows"] == first["positions"]


def test_c4_states_lie_by_the_windows_page(runs: dict[str, Any]) -> None:
    found = accesses(runs["none"], pool="c4_state")
    assert {event.get("row") for event in found} == {None}
    decode = accesses(runs["none"], pool="c4_state", request="b", action="read")[-1]
    assert decode["ring_rows"] == [2048 // 256 * 16 + position % 16 for position in decode["positions"]]
    assert len(decode["positions"]) == 8, "both groups come from the ring"


@pytest.mark.parametrize("planted", ["no-pad", "other-row"])
def test_a_planner_that_reads_what_is_not_there_is_found(runs: dict[str, Any], planted: str) -> None:
    findings = judged(runs[planted]).findings
    assert {finding.rule for finding in findings if finding.cause is None} == {"ST-RING"}
    assert findings[0].request == "a" and findings[0].step == 2
    assert ("does not write" in findings[0].message) == (planted == "no-pad"), "found before it is read"
