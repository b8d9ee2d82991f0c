"""What is named to a person who typed a name that there is not."""

from __future__ import annotations

import pytest

from speckv_debug.model.labels import COMPARED, LONGEST, nearest, shortened, some


@pytest.mark.parametrize(
    ("wanted", "known", "first"),
    [
        ("100", ["1", "7", "99", "103", "chat"], ["99", "103", "7", "1"]),
        ("8", ["10", "2", "9", "7"], ["7", "9"]),
        ("9" * 300, ["1", "7"], ["7", "1"]),
        ("chat-12", ["a", "chat-19", "b"], ["chat-19"]),
        ("zz", ["b", "c", "a"], ["a", "b", "c"]),
        ("run-x", [f"q{i}" for i in range(COMPARED)] + ["run-7"], ["run-7"]),
        ("chat", ["1", "2"], ["1", "2"]),
    ],
)
def test_the_nearest_names_come_first(wanted: str, known: list[str], first: list[str]) -> None:
    assert list(nearest(wanted, known))[: len(first)] == first


def test_a_long_name_keeps_its_ends() -> None:
    name = "a" * 200 + "tail"
    assert shortened("short") == "short"
    assert len(shortened(name)) == LONGEST
    assert shortened(name).startswith("aaa")
    assert shortened(name).endswith("atail")
    assert len(some([name] * 9)) < 6 * LONGEST
    assert some([name] * 9).endswith(" and 4 more")
