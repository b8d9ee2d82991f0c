"""A recording that grows while one looks at it."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from speckv_debug.errors import RecordingError
from speckv_debug.model.finding import CheckResult
from speckv_debug.viewers.tui import following
from speckv_debug.viewers.tui.inspection import Inspection, OnTold
from tests.inspected import SmallProcess, SmallRun, broken, clean, inspection, text_of
from tests.inspecting import inspecting, until


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "EVERY_S", 0.05)


def longer() -> Inspection:
    """Of the same process, with more steps, a finding among them, and its end."""
    return replace(inspection(broken, SmallProcess(SmallRun(60))), ended=True)


async def test_new_steps_and_findings_appear_and_the_end_is_told() -> None:
    short = replace(inspection(clean, SmallProcess(SmallRun(30))), reopen=longer)
    async with inspecting(short, keys=()) as (app, pilot):
        await pilot.press("v", "G")
        await until(pilot, lambda: "60 of 60" in text_of(app))
        await until(pilot, lambda: "✗ 3 findings" in text_of(app))
        assert not app.following and "following" not in text_of(app).splitlines()[0]


async def test_while_nothing_is_new_it_only_follows() -> None:
    looks = []

    def same() -> Inspection:
        looks.append(1)
        return inspection(clean, SmallProcess(SmallRun(30)))

    short = replace(inspection(clean, SmallProcess(SmallRun(30))), reopen=same)
    async with inspecting(short, keys=()) as (app, pilot):
        await until(pilot, lambda: len(looks) > 2)
        assert "✓ nothing found  ↻ following" in text_of(app)


async def test_a_longer_recording_whose_check_fails_is_not_called_clean() -> None:
    def fails() -> CheckResult:
        raise RuntimeError("a rule broke")

    def more() -> Inspection:
        return replace(inspection(fails, SmallProcess(SmallRun(60))), ended=True)

    short = replace(inspection(clean, SmallProcess(SmallRun(30))), reopen=more)
    async with inspecting(short, keys=()) as (app, pilot):
        await until(pilot, lambda: bool(app.stopped))
        await until(pilot, lambda: "to step 809: ✓ nothing found · ! check stopped" in text_of(app))
        assert "check stopped; judged to step 809: nothing found" in text_of(app)


async def test_leaving_gives_up_what_is_still_asked() -> None:
    stopped: list[bool] = []
    async with inspecting(replace(inspection(clean), stop=lambda: stopped.append(True)), keys=()) as (
        _,
        pilot,
    ):
        assert not stopped
        await pilot.press("q")
        assert stopped


async def test_what_waits_for_its_check_is_let_go_when_still_more_has_come() -> None:
    release, stopped, lengths = threading.Event(), [], iter(range(40, 400, 10))

    def slow() -> CheckResult:
        release.wait(20)
        return clean()

    def of(steps: int) -> Inspection:
        made = inspection(clean if steps == 30 else slow, SmallProcess(SmallRun(steps)))
        return replace(made, reopen=lambda: of(next(lengths)), stop=lambda: stopped.append(steps))

    async with inspecting(of(30), keys=()) as (app, pilot):
        await until(pilot, lambda: len(stopped) > 2)
        assert 40 not in stopped and app.checking  # the one that is being judged goes on
        release.set()


async def test_while_a_longer_recording_is_judged_anew_what_was_found_stays() -> None:
    release = threading.Event()

    def slow(told: OnTold) -> CheckResult:
        told(clean())  # the laws alone, of more steps: nothing yet
        release.wait(20)
        return broken()

    def more() -> Inspection:
        return replace(inspection(clean, SmallProcess(SmallRun(60))), check=slow, ended=True)

    short = replace(inspection(broken, SmallProcess(SmallRun(45))), reopen=more)
    async with inspecting(short, keys=()) as (app, pilot):
        await until(pilot, lambda: app.progress.startswith("replaying"))
        await until(pilot, lambda: "to step 814: ✗ 3 findings · replaying" in text_of(app))
        assert "judged to step 814: 2 root causes, 1 consequence" in text_of(app)
        release.set()
        await until(pilot, lambda: "✗ 3 findings" in text_of(app) and "to step" not in text_of(app))


@pytest.mark.parametrize("how", ["deleted", "shorter"])
async def test_a_recording_that_is_gone_is_followed_no_further(how: str) -> None:
    def again() -> Inspection:
        if how == "deleted":
            raise RecordingError("run.speckv is no recording", "give the folder")
        return inspection(clean, SmallProcess(SmallRun(3)))

    short = replace(inspection(clean, SmallProcess(SmallRun(30))), reopen=again)
    async with inspecting(short, keys=()) as (app, pilot):
        await until(pilot, lambda: "! recording gone" in text_of(app))
        assert not app.following and "following" not in text_of(app).splitlines()[0]
        why = "run.speckv is no recording" if how == "deleted" else "it holds fewer events than before"
        assert app.lost == why


async def test_a_part_that_is_just_renamed_is_no_loss() -> None:
    looks: list[int] = []

    def again() -> Inspection:
        looks.append(1)
        if len(looks) % 3:
            raise OSError("no such file")
        return inspection(clean, SmallProcess(SmallRun(30)))

    short = replace(inspection(clean, SmallProcess(SmallRun(30))), reopen=again)
    async with inspecting(short, keys=()) as (app, pilot):
        await until(pilot, lambda: len(looks) > 7)
        assert app.following and not app.lost
