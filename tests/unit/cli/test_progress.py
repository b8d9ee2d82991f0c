"""The bar for work over a second."""

from __future__ import annotations

import io

import pytest

from speckv_debug.cli.progress import WIDTH, ProgressBar


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(stream: io.StringIO, shares: list[float], seconds: float) -> str:
    times = iter([0.0, *(seconds for _ in shares)])
    with ProgressBar("checking", stream, lambda: next(times)) as bar:
        for share in shares:
            bar(share)
    return stream.getvalue()


def test_long_work_shows_how_far_it_has_come_and_leaves_the_line_empty() -> None:
    lines = drawn(Screen(), [0.5, 0.5, 1.0], 2.0).split("\r")[1:]
    assert lines[0] == f"checking {'█' * (WIDTH // 2)}{'░' * (WIDTH // 2)}  50%"
    assert lines[1] == f"checking {'█' * WIDTH} 100%"
    assert [line.strip() for line in lines[2:]] == ["", ""] and len(lines[2]) == len(lines[1])


def test_nothing_is_drawn_on_a_terminal_that_can_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert drawn(Screen(), [0.5], 2.0) == ""


def test_nothing_is_drawn_for_quick_work_or_into_a_file() -> None:
    assert drawn(Screen(), [0.5], 0.9) == ""
    assert drawn(io.StringIO(), [0.5], 2.0) == ""
