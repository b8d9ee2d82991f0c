"""The map of a pool: steps, zoom, the page under the cursor, playing; and the state of all pools."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest
from rich.cells import cell_len

from speckv_debug.replay.page_map import Holder
from speckv_debug.replay.pool_series import PoolSeries
from speckv_debug.replay.pool_state import Use
from speckv_debug.viewers.tui.inspection import OnProgress
from speckv_debug.viewers.tui.moments import Moments
from speckv_debug.viewers.tui.page_signs import SIGNS, sign_of
from speckv_debug.viewers.tui.screens import events
from speckv_debug.viewers.tui.screens.history import HistoryScreen
from speckv_debug.viewers.tui.screens.pages import PagesScreen
from speckv_debug.viewers.tui.screens.state import StateScreen
from speckv_debug.viewers.tui.state_lines import state_lines
from speckv_debug.viewers.tui.widgets.page_detail import PageDetail
from speckv_debug.viewers.tui.widgets.page_grid import PageGrid
from speckv_debug.viewers.tui.widgets.page_legend import PageLegend
from speckv_debug.viewers.tui.widgets.place_bar import shortened
from speckv_debug.viewers.tui.widgets.pool_chart import NO_POOLS, without_room
from tests.inspected import SmallProcess, SmallRun, broken, clean, inspection, text_of
from tests.inspected_pages import small_map, small_state
from tests.inspecting import here, inspecting, until
from tests.smallest import LABEL

CONFLICT_ROW = "····7777 777777rr ··8✗8888 88r···LL LLLLTTTT TTTT··ss ··~·w··· ····!??·"
SOUND_ROW = CONFLICT_ROW.replace("✗", "8")


def test_every_use_has_a_sign_of_one_cell() -> None:
    assert set(SIGNS) == set(Use)
    signs = [sign_of(use, Holder("7", 7, 1)) for use in Use]
    assert all(len(sign) == 1 for sign in signs) and len(set(signs)) == len(signs)


async def test_the_map_of_a_step_and_of_the_steps_around_it() -> None:
    async with inspecting(keys=("p",)) as (app, pilot):
        await until(pilot, lambda: CONFLICT_ROW in text_of(app))
        assert "step 812" in text_of(app).splitlines()[0]
        await pilot.press("[", "[")
        await until(pilot, lambda: SOUND_ROW in text_of(app))
        assert "step 810" in text_of(app).splitlines()[0]
        await pilot.press("}")
        await until(pilot, lambda: CONFLICT_ROW in text_of(app))
        assert "step 819" in text_of(app).splitlines()[0]
        await pilot.press("]")
        await until(pilot, lambda: "this is the last step" in text_of(app))


async def test_the_page_under_the_cursor_is_told_in_words_and_opens_its_history() -> None:
    async with inspecting(keys=("p",)) as (app, pilot):
        await until(pilot, lambda: CONFLICT_ROW in text_of(app))
        await pilot.press("/", *"20", "enter")
        await until(pilot, lambda: "request 7 · row 7 epoch 1" in text_of(app))
        shown = text_of(app)
        assert "✗ conflict: two owners" in shown and "request 8 · row 8 epoch 1" in shown
        await pilot.press("enter")
        await until(pilot, lambda: "page 20 full" in text_of(app))
        assert here(app)[0] is HistoryScreen
        await pilot.press("escape")
        assert here(app)[0] is PagesScreen


async def test_zoomed_out_a_cell_of_many_pages_shows_the_conflict() -> None:
    async with inspecting(keys=("p",)) as (app, pilot):
        await until(pilot, lambda: CONFLICT_ROW in text_of(app))
        await pilot.press("-", "-", "-")
        assert "8 pages a cell" in text_of(app)
        assert "77✗·LT·!" in text_of(app)
        await pilot.press("+", "+", "+", "+")
        assert "one cell a page" in text_of(app)


async def test_it_plays_to_the_last_step_and_stops() -> None:
    async with inspecting(keys=("p",)) as (app, pilot):
        await until(pilot, lambda: CONFLICT_ROW in text_of(app))
        await pilot.press("]", "]", "]", "]", "space")
        screen = app.screen
        assert isinstance(screen, PagesScreen) and screen.playing
        await until(pilot, lambda: screen.at_end and not screen.playing)


async def test_n_walks_from_finding_to_finding_on_the_map() -> None:
    async with inspecting(keys=("p",)) as (app, pilot):
        await until(pilot, lambda: CONFLICT_ROW in text_of(app))
        await pilot.press("{")
        await until(pilot, lambda: "step 800" in text_of(app).splitlines()[0])
        await pilot.press("n")
        await until(pilot, lambda: "step 812" in text_of(app).splitlines()[0])
        await pilot.press("n", "n")
        await until(pilot, lambda: "Page 33" in text_of(app))
        assert here(app)[0] is PagesScreen


async def test_goto_goes_to_the_step_on_the_map() -> None:
    async with inspecting(keys=("p",)) as (app, pilot):
        await until(pilot, lambda: CONFLICT_ROW in text_of(app))
        await pilot.press(":", *"805", "enter")
        await until(pilot, lambda: "step 805" in text_of(app).splitlines()[0])


async def test_a_click_puts_the_cursor_on_a_page() -> None:
    async with inspecting(keys=("p",)) as (app, pilot):
        await until(pilot, lambda: CONFLICT_ROW in text_of(app))
        grid = app.screen.query_one(PageGrid)
        await pilot.click(PageGrid, offset=(grid._label + 2 + 9, 0))
        assert grid.page == 9


async def test_the_state_lists_pools_counted_pages_rings_and_requests() -> None:
    async with inspecting(keys=("s",), size=(120, 50)) as (app, pilot):
        await until(pilot, lambda: "2 requests running" in text_of(app))
        shown = text_of(app)
        assert "pool c128 · counted: 2 pages held by 4 references" in shown
        assert "✗ 2 holders seen, 1 counted" in shown
        assert "[○ ○ ○ 1203 1204 1205 1206 ○]" in shown
        assert "engine's own account, in slots, at event" in shown and "available 4,096" in shown
        await pilot.press("d", "d", "d")
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: here(app)[0] is HistoryScreen)
        await pilot.press("escape")
        assert here(app)[0] is StateScreen


@pytest.mark.parametrize(
    "name", ["7", "chat-19-of-a-long-session-abcdef", "漢字漢字漢字漢字漢字漢字漢字", "\x1b[2J" * 8]
)
def test_numbers_of_requests_stand_below_their_headings_whatever_the_names(name: str) -> None:
    found = small_state(LABEL, 460)
    named = dataclasses.replace(
        found, requests=(dataclasses.replace(found.requests[0], request=name), *found.requests[1:])
    )
    lines = [line.text for line in state_lines(named)]
    heading = next(
        at for at, text in enumerate(lines) if "committed" in text and "allocated" in text and "row" in text
    )
    rows = lines[heading : heading + 1 + len(found.requests)]
    assert len(rows) == 3
    assert len({cell_len(row) for row in rows}) == 1
    assert cell_len(rows[0]) <= 78


async def test_words_of_a_recording_are_no_markup() -> None:
    async with inspecting(keys=("p",)) as (app, pilot):
        await until(pilot, lambda: CONFLICT_ROW in text_of(app))
        screen = app.screen
        assert isinstance(screen, PagesScreen)
        screen.asking_failed("the pages of pool kv[/b] can't be followed")
        await until(pilot, lambda: "pool kv[/b] can't" in text_of(app))


async def test_a_pool_that_can_not_be_followed_says_so() -> None:
    looked_at = inspection()
    async with inspecting(looked_at, keys=()) as (app, pilot):
        app.push_screen(PagesScreen(looked_at.labels[0], 100, pool="none"))
        await until(pilot, lambda: "there is no pool none" in text_of(app))


def test_the_small_map_counts_every_page() -> None:
    found = inspection().processes[0].page_map(0, None, lambda share: None)
    assert sum(found.counts.values()) == len(found) == np.count_nonzero(found.use >= 0)


async def test_a_request_a_use_or_a_pool_is_found_by_its_name() -> None:
    async with inspecting(keys=("p",)) as (app, pilot):
        await until(pilot, lambda: CONFLICT_ROW in text_of(app))
        grid = app.screen.query_one(PageGrid)
        for text, page in (("60", 60), ("request 8", 19), ("evict", 37), ("transfer", 51), ("transfer", 51)):
            await pilot.press("/", *text, "enter")
            await until(pilot, lambda page=page: grid.page == page)  # type: ignore[misc]
        await pilot.press("/", *"full", "enter")
        await until(pilot, lambda: CONFLICT_ROW in text_of(app))
        await pilot.press("/", *"chat", "enter")
        await until(pilot, lambda: "no page of 'chat' here" in text_of(app))


async def test_what_is_being_replayed_is_said_at_once() -> None:
    class Slow(SmallProcess):
        release = threading.Event()

        def moments(self, on_progress: OnProgress) -> Moments:
            self.release.wait(20)
            return super().moments(on_progress)

    slow = Slow(SmallRun())
    async with inspecting(inspection(broken, slow), keys=()) as (app, pilot):
        await pilot.press("p")
        await until(pilot, lambda: "the pages are being replayed; x gives up" in text_of(app))
        assert "⋯" in text_of(app).splitlines()[0]
        slow.release.set()
        await until(pilot, lambda: CONFLICT_ROW in text_of(app))
        assert "⋯" not in text_of(app).splitlines()[0]


async def test_the_smallest_terminal_has_a_map_and_the_page_in_words() -> None:
    async with inspecting(keys=("p",), size=(62, 16)) as (app, pilot):
        await until(pilot, lambda: "Page 1" in text_of(app))
        lines = text_of(app).splitlines()
        assert "pages of full" in lines[0] and "step 812" in lines[0]  # how far along gives way to it
        assert any("····7777" in line for line in lines) and "Quit" in lines[-1]
        assert "· free" in text_of(app)


async def test_steps_asked_for_before_the_first_map_are_gone_when_it_is_there() -> None:
    release = threading.Event()

    class Slow(SmallProcess):
        def moments(self, on_progress: OnProgress) -> Moments:
            release.wait(60)
            return super().moments(on_progress)

    async with inspecting(inspection(clean, Slow(SmallRun()))) as (app, pilot):
        await pilot.press("p", "]", "]", "]", "[")
        assert "+2 when the steps are known" in text_of(app)
        release.set()
        await until(pilot, lambda: "step 802" in text_of(app) and "3 of 20" in text_of(app))


async def test_without_any_known_pool_all_screens_say_the_same() -> None:
    class Unknown(SmallProcess):
        pools = ()

        def series(self, on_progress: OnProgress) -> tuple[PoolSeries, ...]:
            return ()

    async with inspecting(inspection(clean, Unknown(SmallRun())), size=(200, 60), keys=()) as (app, pilot):
        await until(pilot, lambda: NO_POOLS[:40] in text_of(app))
        await pilot.press("p")
        await until(pilot, lambda: "pages" in text_of(app).splitlines()[0] and NO_POOLS[:40] in text_of(app))


async def test_a_part_of_the_events_says_how_to_read_on_until_none_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(events, "AROUND", 150)
    async with inspecting(size=(200, 60)) as (app, pilot):
        await pilot.press("e")
        await until(pilot, lambda: "events 310 to 611 of 700, ] reads on" in text_of(app))
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "event 610" in text_of(app))
        assert "reads on" not in text_of(app)
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "event 700" in text_of(app))
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "no later event was recorded" in text_of(app))


def test_a_long_name_gives_way_to_what_leads_to_it() -> None:
    names = ("run.speckv", "tp0", "step 812", "request " + "x" * 300)
    assert shortened(names, 60) == ["run.speckv", "tp0", "step 812", "request " + "x" * 21 + "…"]
    assert shortened(("run.speckv", "step 812"), 60) == ["run.speckv", "step 812"]


def test_kinds_without_room_are_named() -> None:
    words = ["requests", "tree", "sessions", "free", "unknown", "nobody's"]
    assert without_room(words, 6) == []
    assert without_room(words, 5) == ["sessions", "free"]


def test_pages_of_a_window_are_held_as_the_main_pool_is() -> None:
    found = dataclasses.replace(small_map(812), pool="swa", held_as="full")
    found.use[:] = Use.GRANTED
    legend = PageLegend()
    legend.show(found, 1)
    said = "\n".join(line.plain for line in legend.lines(60, 20))
    assert "held as in pool full" in said
    assert "committed" not in said
    detail = PageDetail()
    detail.show(found, found.first, None)
    assert "held as in pool full" in "\n".join(line.plain for line in detail.lines(60, 20))
