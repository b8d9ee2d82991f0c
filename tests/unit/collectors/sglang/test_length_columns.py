"""Lengths of many steps made together are what they are one by one."""

from __future__ import annotations

from typing import Any

import pytest

from speckv_debug.collectors.sglang.length_columns import length_columns, reserve_columns
from speckv_debug.collectors.sglang.requests import Batch
from speckv_debug.recording.blocks import Block, blocks_to_batch

WHO, OTHERS = Batch(["a", "b"], [1, 2], [1, 4]), Batch(["b", "c", "d"], [2, 3, 1], [4, 1, 2])


def told(who: Batch, step: int, cause: str, **changes: Any) -> tuple[Any, ...]:
    """What the engine's thread notes of one step; `b` has no lengths yet at first."""
    count = len(who)
    lengths = ([step * 10 + i for i in range(count)], [step * 10 + 5 + i for i in range(count)])
    if step == 0:
        lengths[0][1] = None  # type: ignore[call-overload]
    given = {
        "rows": who.rows,
        "lengths": lengths,
        "cause": cause,
        "cuts": None,
        "told": None,
        "evicted": None,
    }
    return (who, *(given | changes).values())


def same(table: str, make: Any, given: list[tuple[Any, ...]]) -> bool:
    """Whether both ways give the same batch."""
    counts = [len(each[0]) for each in given]
    firsts = [sum(counts[:i]) for i in range(len(given))]
    whole, rest = make.together(given)
    each = [Block(table, n, make(*one), seq) for one, n, seq in zip(given, counts, firsts, strict=True)]
    joined = [Block(table, n, one, seq) for one, n, seq in zip(rest, counts, firsts, strict=True)]
    return bool(blocks_to_batch(table, joined, whole).equals(blocks_to_batch(table, each)))


def test_lengths_of_steps_of_different_batches() -> None:
    given = [told(WHO, 0, "spec_prepare"), told(OTHERS, 1, "verify_commit"), told(WHO, 2, "spec_prepare")]
    assert same("lengths", length_columns, given)


@pytest.mark.parametrize(
    "change", [{"rows": [1, None]}, {"cuts": ["grammar", None]}, {"told": [1]}, {"evicted": [0, 16]}]
)
def test_a_step_that_is_told_of_in_part_is_made_alone(change: dict[str, Any]) -> None:
    assert (
        length_columns.together([told(WHO, 1, "spec_prepare"), told(WHO, 2, "spec_prepare", **change)])
        is None
    )


def test_reserves_of_steps_of_different_batches() -> None:
    given = [
        (WHO, ([10, None], [20, 30]), [26, 36], 6, 1),
        (OTHERS, ([11, 12, 13], [21, 31, 41]), [27, 37, 47], None, 1),
    ]
    assert same("reserve", reserve_columns, given)
