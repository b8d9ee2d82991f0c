"""A recording that grows while one looks at it."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from speckv_debug.errors import RecordingError
from speckv_debug.model.finding import CheckResult
from speckv_debug.replay.page_map import PageMap
from speckv_debug.viewers.tui import following
from speckv_debug.viewers.tui.apart import Cancelled
from speckv_debug.viewers.tui.inspection import Inspection, OnProgress, OnTold
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


class SlowPages(SmallProcess):
    """Its maps are drawn once released, or given up when its recording is let go of."""

    def __init__(self, steps: SmallRun, released: threading.Event) -> None:
        super().__init__(steps)
        self._released, self._given_up = released, threading.Event()

    def page_map(self, seq: int, pool: str | None, on_progress: OnProgress) -> PageMap:
        self._released.wait(20)
        if self._given_up.is_set():
            raise Cancelled
        return super().page_map(seq, pool, on_progress)

    def give_up(self) -> None:
        self._given_up.set()


async def test_pages_that_take_long_come_though_more_is_recorded_and_then_go_on_to_the_end() -> None:
    released, lengths = threading.Event(), iter(range(33, 90, 3))

    def of(steps: int) -> Inspection:
        process = SlowPages(SmallRun(steps), released)
        more = replace(inspection(clean, process), stop=process.give_up, ended=steps == 90)
        return replace(more, reopen=lambda: of(next(lengths, 90)))

    async with inspecting(of(30), keys=()) as (app, pilot):
        await pilot.press("p")
        await until(pilot, lambda: not app.following)
        released.set()
        await until(pilot, lambda: "step 800" in text_of(app) and "1 of 30" in text_of(app))


async def test_who_stands_at_the_end_of_the_pages_goes_on_with_it() -> None:
    grow = threading.Event()

    def of(steps: int) -> Inspection:
        made = inspection(clean, SmallProcess(SmallRun(steps)))
        return replace(made, ended=steps == 90, reopen=lambda: of(90 if grow.is_set() else 30))

    async with inspecting(of(30), keys=()) as (app, pilot):
        await pilot.press("p")
        await until(pilot, lambda: "1 of 10" in text_of(app))
        await pilot.press("}")
        await until(pilot, lambda: "10 of 10" in text_of(app))
        grow.set()
        await until(pilot, lambda: "step 829" in text_of(app) and "30 of 30" in text_of(app))
