"""Ranges in slot lists, both ways."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speckv_debug.recording.mistake import Mistake
from speckv_debug.recording.slot_ranges import LONGEST_LIST, SHORTEST_RUN, expand, shorten


def test_ranges_are_half_open() -> None:
    assert expand([7, "50048:50051", -3, "-2:1"]).tolist() == [7, 50048, 50049, 50050, -3, -2, -1, 0]
    assert expand([]).tolist() == expand(["5:5"]).tolist() == []


@pytest.mark.parametrize(
    ("items", "says"),
    [
        (["9:3"], 'the range "9:3" is reversed'),
        (["9"], '"9" is neither a slot nor a range'),
        (["9:"], "neither"),
        (["1:2:3"], "neither"),
        (["a:b"], "neither"),
        (["1 : 2"], "neither"),
        (["٣:٤"], "neither"),
        ([True], "neither"),
        ([1.0], "neither"),
        ([[1]], "neither"),
        ([None], "neither"),
        ([f"0:{LONGEST_LIST + 1}"], "more than"),
        (["0:9000000", "0:9000000"], "more than"),
        (["0:9223372036854775807"], "more than"),
        (["9223372036854775807:9223372036854775809"], "out of range"),
        ([1 << 63], "out of range"),
    ],
)
def test_what_is_no_slot_is_refused(items: list[Any], says: str) -> None:
    with pytest.raises(Mistake, match=re.escape(says) if '"' in says else says):
        expand(items)


def test_only_long_runs_are_shortened() -> None:
    run = list(range(40, 40 + SHORTEST_RUN))
    assert shorten(run) == [f"40:{40 + SHORTEST_RUN}"]
    assert shorten(run[1:]) == run[1:]
    assert shorten([1, *run, 1, 2, *reversed(run)]) == [1, f"40:{40 + SHORTEST_RUN}", 1, 2, *reversed(run)]


def test_runs_end_where_integers_do() -> None:
    top = list(range((1 << 63) - 20, 1 << 63))
    slots = [*top, *range(-(1 << 63), -(1 << 63) + 20)]
    assert len(shorten(slots)) == 3
    assert expand(shorten(slots)).tolist() == slots


@given(st.lists(st.tuples(st.integers(-100, 100), st.integers(1, 40))))
def test_shortening_loses_nothing(runs: list[tuple[int, int]]) -> None:
    slots = [slot for start, length in runs for slot in range(start, start + length)]
    assert expand(shorten(slots)).tolist() == slots
