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


FORWARD = {"event": "forward", "pool": "full", "start": 13}
BETWEEN = [
    ({"event": "lengths", "cause": "extend", "committed": 20, "allocated": 20}, 20),
    ({"event": "lengths", "cause": "session_trim", "committed": 4, "allocated": 8}, 4),
    ({"event": "lengths", "cause": "session_restore", "committed": 9, "allocated": 16}, 9),
    ({"event": "lengths", "cause": "decode", "committed": 14, "allocated": 20}, 14),
    (FORWARD | {"mode": "extend", "slots": list(range(113, 121))}, 21),
    (FORWARD | {"mode": "decode", "tokens": [7]}, 14),
    (
        {"event": "lengths", "cause": "verify_commit", "committed": 12, "allocated": 20, "cut": "grammar"},
        None,
    ),
    ({"event": "forward", "mode": "extend"}, None),
    ({"event": "release", "kind": "session_trim", "target": 4}, None),
]


@pytest.mark.parametrize("second", [4, 9, 13, 14, 20, 21])
@pytest.mark.parametrize(
    ("between", "due"),
    BETWEEN,
    ids=lambda line: (
        isinstance(line, dict)
        and f"{line['event']}-{line.get('cause') or line.get('mode') or line.get('kind')}"
    ),
)
def test_what_changes_a_length_between_two_verifies(
    between: dict[str, Any], due: int | None, second: int
) -> None:
    run = two_verifies(second)
    run.lines.insert(1, {"step": 3} | between | run.who(1, None, 1))
    assert bool(run.check("LEN-SEQ").findings) == (due not in (None, second))


@pytest.mark.parametrize(
    ("told", "start"),
    [
        (
            (
                {
                    "event": "forward",
                    "pool": "full",
                    "mode": "extend",
                    "start": 0,
                    "slots": list(range(100, 110)),
                },
            ),
            10,
        ),
        (({"event": "lengths", "cause": "extend", "committed": 10, "allocated": 16},), 10),
        (
            (
                {"event": "forward", "mode": "extend", "start": 0, "slots": list(range(100, 110))},
                {"event": "lengths", "cause": "extend", "committed": 9, "allocated": 16},
                {
                    "event": "forward",
                    "pool": "draft",
                    "mode": "extend",
                    "start": 0,
                    "slots": list(range(100, 108)),
                },
            ),
            10,
        ),
    ],
)
@pytest.mark.parametrize("off", [-1, 0, 1])
def test_the_first_verify_starts_where_the_prefill_ended(
    told: tuple[dict[str, Any], ...], start: int, off: int
) -> None:
    run = Lengths()
    run.lines += [{"step": 1} | line | run.who(1, None, 1) for line in told]
    run.step = 2
    run.verify(start + off, 3)
    result = run.check("LEN-SEQ")
    assert [(f.expected, f.actual) for f in result.findings] == (
        [(f"seq_len {start}", f"seq_len {start + off}")] if off else []
    )


@pytest.mark.parametrize(
    "head",
    [{"tables": ["accept", "lengths"]}, {"tables": ["accept", "lengths", "forward:target_verify"]}],
)
def test_a_part_of_a_prompt_that_may_not_be_recorded(head: dict[str, Any]) -> None:
    run = Lengths(**head)
    run.lines.append(
        {"event": "forward", "mode": "extend", "step": 1, "start": 0, "slots": list(range(100, 110))}
        | run.who(1, None, 1)
    )
    run.step = 2
    run.verify(20, 3)
    assert not run.check("LEN-SEQ").findings


def test_a_plain_decode_that_is_reported_behind_a_later_verify() -> None:
    run = two_verifies(13)
    run.lines.insert(
        1,
        {"event": "lengths", "cause": "decode", "committed": 10, "allocated": 20, "step": 1}
        | run.who(1, None, 1),
    )
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
