"""The first screen: what it says before, while and after the recording is judged."""

from __future__ import annotations

import threading

from speckv_debug.model.finding import CheckResult
from speckv_debug.viewers.tui.app import InspectorApp
from speckv_debug.viewers.tui.screens.findings import FindingsScreen
from speckv_debug.viewers.tui.screens.overview import OverviewScreen
from speckv_debug.viewers.tui.screens.step import StepScreen
from tests.inspected import SmallProcess, SmallRun, broken, clean, inspection, swapped_move, text_of
from tests.inspecting import here, inspecting, until


async def test_it_names_the_root_cause_what_was_due_and_what_follows() -> None:
    async with inspecting(keys=(), size=(110, 34)) as (app, pilot):
        await until(pilot, lambda: "Pages of pool full over time" in text_of(app))
        shown = text_of(app)
        assert "✗ 2 root causes, 1 consequence, since step 812" in shown
        assert "the last move runs backwards" in shown
        assert "due      42082 <- 42083" in shown
        assert "then     LEN-TOKEN step 813 (392 times, request 7)" in shown
        assert "mean " in shown and "60 verifies" in shown
        assert "and 2 more: u shows all" in shown
        assert "requests" in shown and "conflict" in shown
        assert here(app) == (OverviewScreen, None)
        await pilot.press("enter")
        assert here(app) == (StepScreen, 36)


async def test_what_the_laws_found_is_there_before_replay_is_over() -> None:
    finish = threading.Event()

    def check(told: object) -> CheckResult:
        assert callable(told)
        told(0.25)
        told(CheckResult(findings=(swapped_move(),), checked={"MOV-PAIR": 60}))
        assert finish.wait(90)
        return broken()

    looked_at = inspection()
    app = InspectorApp(type(looked_at)(name="run.speckv", processes=looked_at.processes, check=check))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.outcome is not None)
        assert "✗ 1 finding so far · replaying" in text_of(app)
        await pilot.press("enter")
        assert here(app) == (StepScreen, 36)
        await pilot.press("escape")
        finish.set()
        await until(pilot, lambda: app.outcome is not None and app.outcome.complete)
        assert "✗ 3 findings" in text_of(app)


async def test_a_clean_recording_says_what_there_is_to_look_at() -> None:
    async with inspecting(inspection(clean), keys=()) as (app, _):
        assert "no finding; v shows the steps, p the pages" in text_of(app)


async def test_an_empty_recording_has_sentences_instead_of_charts() -> None:
    async with inspecting(inspection(clean, SmallProcess(SmallRun(0))), keys=()) as (app, pilot):
        await until(pilot, lambda: "no event moves a page" in text_of(app))
        assert "no verify: no file of the table accept" in text_of(app)


async def test_simulated_acceptance_is_told_and_in_no_mean() -> None:
    run = SmallRun(60)
    run.accept_len[30:], run.simulated[30:] = 4, True
    async with inspecting(inspection(clean, SmallProcess(run)), keys=(), size=(160, 50)) as (app, pilot):
        await until(
            pilot, lambda: f"mean {run.accept_len[:30].mean():.2f} of 4 · 30 verifies" in text_of(app)
        )
        assert "30 simulated, not counted" in text_of(app)


async def test_a_late_start_is_among_what_is_missing() -> None:
    async with inspecting(keys=(), size=(160, 50)) as (app, _):
        assert "not recorded from the process's start" in text_of(app)


async def test_find_goes_to_the_findings_and_asks() -> None:
    async with inspecting(keys=()) as (app, pilot):
        await pilot.press("/")
        await until(pilot, lambda: "rule:MOV severity:error" in text_of(app))
        await pilot.press(*"LEAK")
        assert here(app)[0] is FindingsScreen
        await until(pilot, lambda: "1 of 3" in text_of(app))
