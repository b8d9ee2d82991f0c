"""LEN-SEQ and LEN-ORDER: what breaks them, and what only looks so."""

from __future__ import annotations

from typing import Any

import pytest

from tests.told_lengths import Lengths, found

# ---- LEN-SEQ --------------------------------------------------------------------------------------


def two_verifies(second: int, **first: Any) -> Lengths:
    run = Lengths()
    run.step = 2
    run.verify(10, 3, **first)
    run.step = 3
    run.verify(second, 1)
    return run


def test_the_next_verify_starts_where_the_one_before_ended() -> None:
    assert not found(two_verifies(13), "LEN-SEQ")


@pytest.mark.parametrize("second", [12, 14])
def test_the_next_verify_starts_elsewhere(second: int) -> None:
    (finding,) = found(two_verifies(second), "LEN-SEQ")
    assert (finding.step, finding.request, finding.expected, finding.actual) == (
        3,
        "r1",
        "seq_len 13",
        f"seq_len {second}",
    )


def test_the_new_length_is_not_the_sum() -> None:
    (finding,) = found(two_verifies(13, new_seq_len=12), "LEN-SEQ")
    assert finding.step == 2 and finding.actual == "new_seq_len 12"


@pytest.mark.parametrize(
    "between",
    [
        {"event": "lengths", "cause": "extend", "committed": 20, "allocated": 20},
        {"event": "lengths", "cause": "session_trim", "committed": 4, "allocated": 8},
        {"event": "lengths", "cause": "decode", "committed": 14, "allocated": 20},
        {"event": "lengths", "cause": "verify_commit", "committed": 12, "allocated": 20, "cut": "grammar"},
        {"event": "forward", "mode": "extend"},
        {"event": "release", "kind": "session_trim", "target": 4},
    ],
    ids=lambda line: f"{line['event']}-{line.get('cause') or line.get('mode') or line.get('kind')}",
)
def test_what_changes_a_length_between_two_verifies(between: dict[str, Any]) -> None:
    run = two_verifies(21)
    run.lines.insert(1, {"step": 3} | between | run.who(1, None, 1))
    assert not run.check("LEN-SEQ").findings


def test_another_epoch_starts_over() -> None:
    run = two_verifies(13)
    run.verify(5, 1, epoch=2)
    assert not found(run, "LEN-SEQ")


def test_a_jump_is_unknown_where_nothing_would_show_its_cause() -> None:
    run = two_verifies(21)
    run.head["tables"] = ["accept"]
    result = run.check("LEN-SEQ")
    assert not result.findings and result.checked["LEN-SEQ"] == 1


def test_uno_verifies_from_one_past_the_frontier() -> None:
    run = two_verifies(13, new_seq_len=14, algorithm="uno")
    assert not run.check("LEN-SEQ").findings


def test_a_hole_between_two_verifies() -> None:
    run = two_verifies(21)
    run.lines[1]["seq"] = 5
    assert not run.check("LEN-SEQ").findings


# ---- LEN-ORDER ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("committed", "allocated", "cause", "head", "broken"),
    [
        (5, 5, "extend", {}, False),
        (6, 5, "decode", {}, True),
        (-1, 5, "decode", {}, True),
        (64, 65, "decode", {}, True),
        (64, 64, "decode", {}, False),
        (9, 0, "finish", {}, False),
        (9, 0, "retract", {}, False),
        (6, 5, "spec_prepare", {}, True),
        (6, 5, "spec_prepare", {"engine_version": "0.5.14"}, False),
        (7, 5, "spec_prepare", {"engine_version": "0.5.14"}, True),
        (6, 5, "spec_prepare", {"engine_version": None}, False),
        (6, 5, "spec_prepare", {"engine": "reference"}, True),
    ],
)
def test_order(committed: int, allocated: int, cause: str, head: dict[str, Any], broken: bool) -> None:
    run = Lengths(**head)
    run.told(committed, allocated, cause)
    assert bool(run.check("LEN-ORDER").findings) == broken


def test_a_row_without_a_known_width_has_no_end() -> None:
    run = Lengths(settings={})
    run.told(64, 4096, "decode")
    assert not run.check("LEN-ORDER").findings


def test_a_reserve_beyond_the_row() -> None:
    run = Lengths()
    run.reserve(60, 60, 6, 66)
    (finding,) = run.check("LEN-ORDER").findings
    assert "66" in finding.message and finding.actual is not None
