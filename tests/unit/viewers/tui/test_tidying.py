"""Full collections come while nobody types, and at the latest after a lot has piled up."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from speckv_debug.viewers.tui.tidying import PRESSING, QUIET_S, Tidying


class Clock:
    """Says what it is told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Ring:
    """Refers to itself."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def tidying() -> Iterator[tuple[Tidying, Clock]]:
    clock = Clock()
    made = Tidying(clock)
    made.begin()
    yield made, clock
    made.end()


def test_none_comes_by_itself_until_the_end() -> None:
    before = gc.get_threshold()
    tidying = Tidying()
    tidying.begin()
    assert gc.get_threshold()[:2] == before[:2]
    assert gc.get_threshold()[2] > 1_000_000
    tidying.end()
    assert gc.get_threshold() == before


def test_what_was_left_goes_when_no_key_has_come_for_a_while(tidying: tuple[Tidying, Clock]) -> None:
    tidy, clock = tidying
    gc.collect()
    left = weakref.ref(Ring())
    tidy.left()
    clock.now = 5.0
    tidy.typed()
    assert not tidy.tick()
    assert left() is not None
    clock.now += QUIET_S
    assert tidy.tick()
    assert left() is None
    assert not tidy.tick()


def test_who_never_stops_typing_does_not_fill_the_memory(
    tidying: tuple[Tidying, Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    tidy, _ = tidying
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, PRESSING - 1))
    assert not tidy.tick()
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, PRESSING))
    assert tidy.tick()
