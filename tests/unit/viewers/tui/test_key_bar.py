"""The keys at the bottom: whole ones only, and help and quit in any width."""

from __future__ import annotations

import pytest

from speckv_debug.viewers.tui.app import InspectorApp
from speckv_debug.viewers.tui.places import Place
from speckv_debug.viewers.tui.screens.steps import StepsScreen
from speckv_debug.viewers.tui.widgets.key_bar import KeyBar
from tests.inspected import LABEL, inspection


async def bottom(width: int, place: Place | None) -> str:
    """What stands in the last line of a terminal of `width` columns."""
    app = InspectorApp(inspection(), place)
    async with app.run_test(size=(width, 24)) as pilot:
        await pilot.pause()
        bar = app.screen.query_one(KeyBar)
        strips = app.screen._compositor.render_strips()
        return strips[bar.region.y].text.strip()


@pytest.mark.parametrize("place", [None, Place(LABEL, 36)], ids=["findings", "step"])
@pytest.mark.parametrize("width", [16, 30, 40, 60, 79])
async def test_a_narrow_one_shows_whole_keys(width: int, place: Place | None) -> None:
    shown = await bottom(width, place)
    assert shown.startswith("f1 Help q Quit")
    assert shown.count("Help") == 1
    words = {"Help", "Quit", "Open", "Find", "Go", "to", "Events", "Unknown", "Steps", "Next", "Request"}
    words |= {"Findings", "Pages", "State", "Replay", "Step", "←→"}
    assert {word for word in shown.split() if len(word) > 1} <= words | {"f1"}


async def test_a_click_does_what_the_key_does() -> None:
    app = InspectorApp(inspection())
    async with app.run_test(size=(120, 24)) as pilot:
        await pilot.pause()
        bar = app.screen.query_one(KeyBar)
        shown = app.screen._compositor.render_strips()[bar.region.y].text
        await pilot.click(KeyBar, offset=(shown.index("Steps"), 0))
        await pilot.pause()
        assert isinstance(app.screen, StepsScreen)


async def test_a_wide_one_shows_all_keys() -> None:
    shown = await bottom(120, Place(LABEL, 36))
    assert "Step" in shown and "f1 Help" in shown and "q Quit" in shown
