"""Drive the inspector in a test."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from speckv_debug.viewers.tui.app import InspectorApp
from speckv_debug.viewers.tui.inspection import Inspection
from speckv_debug.viewers.tui.places import Place
from speckv_debug.viewers.tui.screens.step import StepScreen
from speckv_debug.viewers.tui.screens.steps import StepsScreen
from tests.inspected import inspection

Inspector = Pilot[None]
PATIENCE_S = 180
"""Before a test gives up: a loaded machine takes its time."""


class Here:
    """Calls an object of this process, as `Apart` calls one of another."""

    def __init__(self, made: object) -> None:
        self._made = made

    def call(self, name: str, *args: object, on_told: Callable[[Any], None] = lambda what: None) -> Any:
        return getattr(self._made, name)(*args, on_told)

    def cancel(self) -> None:
        """Nothing runs."""

    def begin(self) -> None:
        """Nothing has to be started."""


@asynccontextmanager
async def inspecting(
    looked_at: Inspection | None = None,
    place: Place | None = None,
    size: tuple[int, int] = (100, 30),
    keys: tuple[str, ...] = ("f",),
) -> AsyncIterator[tuple[InspectorApp, Inspector]]:
    """The app with its check done, after `keys`; those that are there to begin with show the findings."""
    app = InspectorApp(looked_at or inspection(), place)
    async with app.run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: app.outcome is not None or bool(app.stopped))
        if place is None:
            await pilot.press(*keys)
        yield app, pilot


async def until(pilot: Inspector, true: Callable[[], object]) -> None:
    """Wait for something that another thread does."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline
        await pilot.pause(0.05)
    await pilot.pause()


def here(app: InspectorApp) -> tuple[type, int | None]:
    """The screen, and the verify that it shows."""
    screen = app.screen
    place = screen.place if isinstance(screen, StepScreen | StepsScreen) else None
    return type(screen), None if place is None else place.index
