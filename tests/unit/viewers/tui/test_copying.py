"""A finding leaves the inspector as text or as the events around it."""

from __future__ import annotations

from tests.inspected import text_of
from tests.inspecting import inspecting, until


async def test_a_finding_is_copied_as_text_from_list_and_verify() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("y")
        copied = app.clipboard
        assert copied.startswith("run.speckv · sglang 0.5.23")
        assert "MOV-PAIR · tp0-pp0-dp0-4711 · step 812 · request 7" in copied
        assert "✗ 2  C 23" in copied and "enter opens" not in copied
        await pilot.press("enter", "y")
        assert app.clipboard == copied
        await pilot.press("h", "y")
        await until(pilot, lambda: "there is no finding here to copy" in text_of(app))


async def test_the_events_around_a_finding_are_copied_as_json_lines() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("Y")
        await until(pilot, lambda: app.clipboard)
        assert '{"seq":460}' in app.clipboard and '{"seq":430}' in app.clipboard
        assert '{"seq":100}' not in app.clipboard
