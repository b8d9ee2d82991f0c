"""The check runs beside the screens."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from speckv_debug.errors import UsageError
from speckv_debug.model.finding import CheckResult, Finding
from speckv_debug.viewers.tui.apart import Cancelled
from speckv_debug.viewers.tui.app import InspectorApp
from speckv_debug.viewers.tui.inspection import OnTold
from speckv_debug.viewers.tui.screens.step import StepScreen
from tests.inspected import broken, clean, inspection, swapped_move, text_of
from tests.inspecting import here, inspecting, until


async def test_steps_can_be_looked_at_while_the_check_runs() -> None:
    finish = threading.Event()

    def slow() -> CheckResult:
        assert finish.wait(90)
        return broken()

    app = InspectorApp(inspection(slow))
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await until(pilot, lambda: app.progress.startswith("checking"))
        assert "checking …" in text_of(app)
        await pilot.press("n")
        await until(pilot, lambda: "the check is still running" in text_of(app))
        await pilot.press("v", "j", "enter")
        assert here(app) == (StepScreen, 1)
        finish.set()
        await until(pilot, lambda: app.outcome is not None)
        assert "✗ 3 findings" in text_of(app)
        await pilot.press("n")
        assert here(app) == (StepScreen, 36)


async def test_a_running_check_shows_that_it_is_alive() -> None:
    finish = threading.Event()
    app = InspectorApp(inspection(lambda: broken() if finish.wait(90) else clean()))
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.progress == "checking … 1 s")
        finish.set()


@pytest.mark.parametrize("found", [None, (swapped_move(),)], ids=["nothing yet", "some findings"])
async def test_a_check_is_given_up_and_begun_anew(found: tuple[Finding, ...] | None) -> None:
    """One that has told nothing yet ends with its process, one that tells something ends there."""
    asked, ended = [0], threading.Event()

    def check(told: OnTold) -> CheckResult:
        asked[0] += 1
        if asked[0] > 1:
            return broken()
        if found is not None:
            told(CheckResult(findings=found, checked={"MOV-PAIR": 60}))
        assert ended.wait(90)
        if found is None:
            raise Cancelled
        while True:
            told(0.5)

    looked_at = replace(inspection(), check=check, give_up_check=ended.set)
    app = InspectorApp(looked_at)
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await until(pilot, lambda: asked[0] == 1)
        await until(pilot, lambda: (app.outcome is not None) == (found is not None))
        await pilot.press("X")
        await until(pilot, lambda: not app.checking)
        shown = text_of(app)
        assert "! check given up" in shown
        assert ("✗ 1 root cause, since step 812 · so far" in shown) == (found is not None)
        assert ("the check was given up; X begins it anew" in shown) == (found is None)
        await pilot.press("X")
        await until(pilot, lambda: app.outcome is not None and app.outcome.complete)
        assert "✗ 3 findings" in text_of(app)
        assert "given up" not in text_of(app)
        await pilot.press("X")
        assert not app.checking


async def test_leaving_does_not_wait_for_the_check() -> None:
    finish = threading.Event()
    app = InspectorApp(inspection(lambda: broken() if finish.wait(90) else clean()))
    started = time.monotonic()
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.progress.startswith("checking"))
        await pilot.press("q")
    assert time.monotonic() - started < 60
    finish.set()


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (KeyError("tree"), "the check stopped: KeyError: 'tree'"),
        (UsageError("no rule X", "See rules."), "no rule X. See rules."),
    ],
)
async def test_a_check_that_fails_leaves_the_steps(error: Exception, why: str) -> None:
    def fails() -> CheckResult:
        raise error

    async with inspecting(inspection(fails)) as (app, pilot):
        assert why in text_of(app)
        await pilot.press("n")
        await pilot.press("v", "enter")
        assert here(app) == (StepScreen, 0)
