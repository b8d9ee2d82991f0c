"""TRC: a hole in the stream is named; what the recorder knows that it left out is not a finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import speckv_debug
from speckv_debug.model.finding import CheckResult
from speckv_debug.replay.told_whole import ADAPTERS
from tests.ledgers import Run

RULE = "TRC-GAP"


def reasons(result: CheckResult) -> dict[str, int]:
    assert not result.findings
    return {unknown.why: unknown.instances for unknown in result.unknown}


def notes(*seqs: int) -> Run:
    run = Run(adapter="sglang")
    for seq in seqs:
        run.step = seq // 10
        run.add("note", seq=seq, text="here")
    return run


def test_a_stream_may_start_anywhere() -> None:
    result = notes(500, 501, 502).check("TRC-GAP")
    assert not result.findings and result.checked["TRC-GAP"] == 2


def test_a_hole_names_the_first_missing_event_and_how_many() -> None:
    (finding,) = notes(8, 9, 23).check("TRC-GAP").findings
    assert (finding.first_seq, finding.step, finding.severity) == (10, 2, "warning")
    assert finding.message.startswith("13 events are missing (10 to 22)")
    (numbers,) = finding.evidence
    assert numbers.rows == (("last before the hole", 9), ("first missing", 10), ("next recorded", 23))


def test_one_missing_event() -> None:
    (finding,) = notes(8, 10).check("TRC-GAP").findings
    assert finding.message.startswith("1 event is missing (9)")


def test_several_holes_are_one_finding_with_repeats() -> None:
    result = notes(1, 3, 5, 6).check("TRC-GAP")
    assert [(f.first_seq, f.repeats) for f in result.findings] == [(2, 1)]
    assert result.checked["TRC-GAP"] == 4


def test_rows_that_the_recorder_dropped_are_no_hole() -> None:
    run = notes(1, 2, 3)
    run.lines[1] |= {"event": "drop", "table": "alloc", "rows": 9}
    del run.lines[1]["text"]
    result = run.check("TRC-GAP")
    assert not result.findings and result.unknown[0].instances == 1


def test_nothing_recorded_is_nothing_to_judge() -> None:
    assert Run().check("TRC-GAP").checked["TRC-GAP"] == 0


# ---- who wrote it ---------------------------------------------------------------------------------


@pytest.mark.parametrize("adapter", ["sglang", "sglang (full)", "reference"])
def test_an_adapter_that_is_known(adapter: str) -> None:
    run = Run(adapter=adapter)
    run.add("note", text="here")
    result = run.check(RULE)
    assert not result.unknown and result.checked[RULE] == 2


@pytest.mark.parametrize(
    ("adapter", "why"),
    [
        (None, "the process does not name the adapter that wrote its events"),
        ("vllm", "the adapter that wrote the events is none that this program knows"),
        ("sglang-fork", "the adapter that wrote the events is none that this program knows"),
    ],
)
def test_an_adapter_that_is_not_known(adapter: str | None, why: str) -> None:
    run = Run(adapter=adapter)
    run.add("note", text="here")
    result = run.check(RULE)
    assert reasons(result) == {why: 1} and result.checked[RULE] == 1


def test_each_collector_is_a_known_adapter() -> None:
    collectors = Path(speckv_debug.__file__).parent / "collectors"
    assert {folder.parent.name for folder in collectors.glob("*/__init__.py")} == set(ADAPTERS)


# ---- what belongs to an event ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pool", "pools", "lacking"),
    [
        ("full", None, 0),
        (None, None, 0),
        ("draft", None, 0),  # known by its name
        ("swa", None, 1),
        ("full", [], 1),
        (None, [], 1),
        ("odd", [{"name": "odd", "kind": "mystery"}], 1),
    ],
)
def test_a_grant_of_a_pool_that_is_not_declared(
    pool: str | None, pools: list[dict[str, Any]] | None, lacking: int
) -> None:
    run = Run(adapter="sglang") if pools is None else Run(adapter="sglang", pools=pools)
    run.add("alloc", pool=pool, row=1, epoch=1, slots=[3], reason="extend")
    result = run.check(RULE)
    why = "the grant is of a pool that the process does not declare"
    assert reasons(result) == ({why: lacking} if lacking else {}) and result.checked[RULE] == 2


def verified(**forward: Any) -> Run:
    """A verify of step 1 with its accept, and a forward."""
    run = Run(adapter="sglang")
    run.forward(1, 4, [4, 5], mode="target_verify")
    run.add("accept", row=1, epoch=1, request="r1", accept_len=1)
    run.add("forward", **({"mode": "target_verify", "row": 2, "epoch": 1, "request": "r2"} | forward))
    return run


@pytest.mark.parametrize(
    ("forward", "lacking"),
    [
        ({}, 1),
        ({"row": 1, "request": "r1", "step": 2}, 1),
        ({"row": 1, "request": "r1"}, 0),  # of the same step
        ({"row": 1, "request": "r1", "step": None}, 1),
        ({"mode": "draft"}, 0),
        ({"mode": "decode"}, 0),
        ({"pool": "draft"}, 0),
        ({"padded": True}, 0),
        ({"row": 0, "request": None}, 0),
    ],
)
def test_a_verify_without_its_accept(forward: dict[str, Any], lacking: int) -> None:
    result = verified(**forward).check(RULE)
    why = "the verify has no accept of its step and row"
    assert reasons(result) == ({why: lacking} if lacking else {}) and result.checked[RULE] == 2
