"""A verify that has to be read first: the place moves at once, the drawing follows."""

from __future__ import annotations

import os
import threading

import pytest

from speckv_debug.errors import RecordingError
from speckv_debug.replay.verify_details import Recomputed
from speckv_debug.viewers.tui.drawn import KEPT, Drawn, LastDrawn
from speckv_debug.viewers.tui.history import History, Question
from speckv_debug.viewers.tui.inspection import OnProgress
from speckv_debug.viewers.tui.places import Place
from speckv_debug.viewers.tui.screens.step import StepScreen
from tests.inspected import LABEL, SmallProcess, SmallRun, broken, inspection, text_of
from tests.inspecting import inspecting, until
from tests.smallest import smallest_step

AWAITED = "is being read"


class Reads(SmallProcess):
    """Reads each verify for as long as it is told."""

    def __init__(self) -> None:
        super().__init__(SmallRun())
        self.go_on = threading.Event()
        self.computing = threading.Event()

    def at_hand(self, index: int) -> Drawn | None:
        return None

    def drawn(self, index: int) -> Drawn:
        self.go_on.wait(60)
        return super().drawn(index)

    def recomputed(self, index: int, on_progress: OnProgress) -> tuple[Recomputed, ...]:
        self.computing.wait(60)
        return super().recomputed(index, on_progress)


async def test_the_place_moves_before_the_verify_is_read() -> None:
    process = Reads()
    async with inspecting(inspection(broken, process), Place(LABEL, 4), (200, 60)) as (app, pilot):
        await until(pilot, lambda: AWAITED in text_of(app))
        await pilot.press("l")
        assert "8 of 60 ⋯" in text_of(app)
        assert "Draft tree" not in text_of(app)
        process.go_on.set()
        await until(pilot, lambda: "Draft tree" in text_of(app))
        assert AWAITED not in text_of(app)
        assert "event 170" in text_of(app)


async def test_the_last_verify_asked_for_is_the_one_that_is_drawn() -> None:
    process = Reads()
    async with inspecting(inspection(broken, process), size=(200, 60)) as (app, pilot):
        await pilot.press("v", "j", "j", "G")
        assert "60 of 60" in text_of(app)
        process.go_on.set()
        await until(pilot, lambda: "event 690" in text_of(app))


async def test_a_screen_can_be_left_while_it_reads() -> None:
    process = Reads()
    async with inspecting(inspection(broken, process), Place(LABEL, 4), (200, 60)) as (app, pilot):
        await until(pilot, lambda: AWAITED in text_of(app))
        await pilot.press("escape", "f")
        process.go_on.set()
        await pilot.press("v")
        await until(pilot, lambda: "60" in text_of(app))
        assert app.return_code is None


async def test_a_verify_does_not_wait_for_one_that_is_being_computed() -> None:
    process = Reads()
    process.go_on.set()
    async with inspecting(inspection(broken, process), Place(LABEL, 4), (200, 60)) as (app, pilot):
        await until(pilot, lambda: "Draft tree" in text_of(app))
        await pilot.press("c", "l")
        await until(pilot, lambda: "event 170" in text_of(app))
        process.computing.set()


async def test_why_a_verify_can_not_be_drawn() -> None:
    class Lost(Reads):
        def drawn(self, index: int) -> Drawn:
            raise RecordingError("the part is gone", "Look for it.")

    async with inspecting(inspection(broken, Lost()), Place(LABEL, 4)) as (app, pilot):
        await until(pilot, lambda: "can't be drawn: the part is gone" in text_of(app))


async def test_what_can_not_be_read_says_nothing_of_the_verify_where_one_has_gone_on_to() -> None:
    class Half(Reads):
        """The first verify of the request can't be read, nor computed; the next one is at hand."""

        def at_hand(self, index: int) -> Drawn | None:
            return None if index == 4 else SmallProcess.drawn(self, index)

        def drawn(self, index: int) -> Drawn:
            self.go_on.wait(60)
            raise RecordingError("the part is gone", "Look for it.")

        def recomputed(self, index: int, on_progress: OnProgress) -> tuple[Recomputed, ...]:
            self.computing.wait(60)
            raise RecordingError("no input", "Look for it.")

    process = Half()
    async with inspecting(inspection(broken, process), Place(LABEL, 4), (200, 60)) as (app, pilot):
        await pilot.press("c", "l")
        await until(pilot, lambda: "Draft tree" in text_of(app))
        process.go_on.set()
        process.computing.set()
        screen = app.screen
        assert isinstance(screen, StepScreen)
        await until(pilot, lambda: not screen.asking)
        assert "the part is gone" not in text_of(app)
        assert "no input" not in text_of(app)
        assert "Draft tree" in text_of(app)


async def test_questions_of_screens_that_were_left_keep_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # Python's own pool has a few threads more than that

    class Waits(SmallProcess):
        def history(self, question: Question) -> History:
            go_on.wait(60)
            return super().history(question)

    go_on = threading.Event()
    async with inspecting(inspection(broken, Waits(SmallRun())), Place(LABEL, 4)) as (app, pilot):
        for _ in range(8):
            await pilot.press("t")
            await until(pilot, lambda: "searching" in text_of(app))
            await pilot.press("escape")
        await pilot.press("e")
        await until(pilot, lambda: "accept_index" in text_of(app))
        go_on.set()


def test_the_oldest_drawing_is_forgotten_first() -> None:
    last = LastDrawn()
    for index in range(KEPT + 1):
        last.keep(index, Drawn(smallest_step()))
    assert last.get(0) is None
    assert last.get(1) is not None
