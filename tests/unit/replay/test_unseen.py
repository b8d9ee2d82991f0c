"""What a person is told of holes between events."""

from __future__ import annotations

import pytest

from speckv_debug.replay.unseen import Unseen, reasons

HEAD = Unseen(first=0, end=2, why="events 0 to 1 are missing")
TABLE = Unseen(first=None, end=None, why="accept: not recorded whole")


def holes(count: int) -> list[Unseen]:
    firsts = range(10, 10 + 10 * count, 10)
    return [Unseen(first=n, end=n + 5, why=f"events {n} to {n + 4} are missing") for n in firsts]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_few_holes_are_named_one_by_one(count: int) -> None:
    found = [TABLE, HEAD, *holes(count)]
    assert reasons(found) == tuple(each.why for each in found)


def test_many_holes_are_counted_and_nothing_else_is() -> None:
    many = "events are missing in 4 places, first events 10 to 14"
    last = Unseen(first=60, end=None, why="the end is missing")
    assert reasons([TABLE, HEAD, *holes(4), last]) == (TABLE.why, HEAD.why, many, last.why)
