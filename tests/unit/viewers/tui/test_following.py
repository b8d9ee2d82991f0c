"""A recording that grows while one looks at it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from speckv_debug.viewers.tui import following
from speckv_debug.viewers.tui.inspection import Inspection
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
