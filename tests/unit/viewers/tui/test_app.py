"""The inspector driven by keys: where they lead, and that the screen stays alive."""

from __future__ import annotations

import dataclasses
import threading
import weakref
from pathlib import Path

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot

from speckv_debug.model.finding import CheckResult, Known, Unknown
from speckv_debug.model.process import Pool
from speckv_debug.viewers.tui.app import InspectorApp
from speckv_debug.viewers.tui.history import History, Question
from speckv_debug.viewers.tui.keys import deeds
from speckv_debug.viewers.tui.places import Place
from speckv_debug.viewers.tui.screens.events import EventsScreen
from speckv_debug.viewers.tui.screens.findings import FindingsScreen
from speckv_debug.viewers.tui.screens.overview import OverviewScreen
from speckv_debug.viewers.tui.screens.sheet import Sheet
from speckv_debug.viewers.tui.screens.step import StepScreen
from speckv_debug.viewers.tui.screens.steps import StepsScreen
from tests.inspected import LABEL, SmallProcess, SmallRun, broken, clean, inspection, leak, text_of
from tests.inspecting import here, inspecting, until

Inspector = Pilot[None]
MANUAL = Path(__file__).parents[4] / "docs" / "inspect.md"


async def test_it_begins_with_the_verdict_and_the_root_cause() -> None:
    async with inspecting() as (app, _):
        shown = text_of(app)
        assert here(app) == (FindingsScreen, None)
        assert "2 root causes, 1 consequence, since step 812" in shown
        assert "Each accepted row's KV moves from its verify slot" in shown
        assert "unknown: OWN-RACE 41 (needs device times: record --level 3)" in shown


async def test_enter_opens_the_place_and_escape_goes_back() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("enter")
        assert here(app) == (StepScreen, 36)
        assert "✗ ran 42083 ← 42082" in text_of(app)
        await pilot.press("escape")
        assert here(app) == (FindingsScreen, None)
        await pilot.press("escape")
        assert here(app) == (OverviewScreen, None)
        await pilot.press("escape")
        assert here(app) == (OverviewScreen, None)


async def test_a_finding_that_no_verify_shows_opens_its_events() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("G", "enter")
        await until(pilot, lambda: "finish" in text_of(app))
        assert here(app)[0] is EventsScreen
        line = next(line for line in text_of(app).splitlines() if line.startswith("›"))
        assert line.split()[:4] == ["›", "✗", "700", "-"]


async def test_n_walks_through_all_findings_from_any_screen() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("v", "n")
        assert here(app) == (StepScreen, 36)
        await pilot.press("n")
        assert here(app) == (StepScreen, 39)
        await pilot.press("n")
        await until(pilot, lambda: here(app)[0] is EventsScreen)
        await pilot.press("N")
        assert here(app) == (StepScreen, 39)
        await pilot.press("left", "n")
        assert here(app) == (StepScreen, 39)
        await pilot.press("N", "N")
        assert here(app) == (StepScreen, 36)
        await until(pilot, lambda: "this is the first finding" in text_of(app))


async def test_arrows_follow_the_request_and_r_goes_through_its_step() -> None:
    async with inspecting(place=Place(LABEL, 36)) as (app, pilot):
        assert here(app) == (StepScreen, 36)
        await pilot.press("right", "l")
        assert here(app) == (StepScreen, 42)
        await pilot.press("h", "r", "r", "R")
        assert here(app) == (StepScreen, 40)
        await pilot.press("R", "R")
        assert here(app) == (StepScreen, 39)
        await until(pilot, lambda: "this is the first request of this step" in text_of(app))


async def test_colon_goes_to_a_step_of_the_same_request_where_there_is_one() -> None:
    async with inspecting(place=Place(LABEL, 38)) as (app, pilot):
        await pilot.press("colon", *"805", "enter")
        assert here(app) == (StepScreen, 17)
        await pilot.press("colon", *"805", "space", "8", "enter")
        assert here(app) == (StepScreen, 16)


async def test_colon_names_the_nearest_step_when_there_is_none() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("colon", *"900", "enter")
        await until(pilot, lambda: "no verify at step 900" in text_of(app))
        assert "819" in text_of(app)
        assert here(app) == (FindingsScreen, None)
        await pilot.press("colon", *"9" * 23, "enter")
        await until(pilot, lambda: f"no verify at step {'9' * 23}" in text_of(app))
        await pilot.press("colon", *"word", "enter")
        await until(pilot, lambda: "'word' is no step" in text_of(app))


async def test_colon_moves_the_cursor_of_the_list_and_enter_opens() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("v", "colon", *"812", "enter")
        assert here(app) == (StepsScreen, 36)
        await pilot.press("enter")
        assert here(app) == (StepScreen, 36)
        await pilot.press("escape", "j")
        assert here(app) == (StepsScreen, 37)


async def test_slash_filters_steps_by_request_while_typing() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("v", "slash", *"chat")
        await pilot.pause()
        assert "1 of 20 with 'chat'" in text_of(app)
        await pilot.press("enter", "G", "enter")
        assert here(app) == (StepScreen, 59)
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert here(app) == (StepsScreen, 59)
        assert "60 of 60" in text_of(app)
        await pilot.press("slash", *"nobody")
        await pilot.pause()
        assert "no verify step here" in text_of(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "of 60" in text_of(app)


async def test_slash_filters_findings_by_any_word() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("slash", *"leak", "enter")
        await pilot.pause()
        shown = text_of(app)
        assert "OWN-LEAK" in shown and "MOV-PAIR" not in shown
        await pilot.press("escape")
        await pilot.pause()
        assert "MOV-PAIR" in text_of(app)


async def test_slash_in_a_step_goes_to_the_next_verify_of_a_request() -> None:
    async with inspecting(place=Place(LABEL, 36)) as (app, pilot):
        await pilot.press("slash", *"chat", "enter")
        assert here(app) == (StepScreen, 38)
        await pilot.press("slash", *"nobody", "enter")
        await until(pilot, lambda: "no request with 'nobody'" in text_of(app))


async def test_a_clean_recording_says_what_was_judged() -> None:
    async with inspecting(inspection(clean)) as (app, pilot):
        assert "nothing found · 660 instances of 2 rules judged" in text_of(app)
        assert "✓ nothing found" in text_of(app)
        await pilot.press("n")
        await until(pilot, lambda: "nothing was found" in text_of(app))


async def test_a_clean_recording_of_which_most_is_unknown_gets_no_tick() -> None:
    little = CheckResult(
        checked={"MOV-PAIR": 3},
        unknown=(Unknown(rule="OWN-RACE", why="w", instances=4),),
        known=Known(findings={"MOV-PAIR": 2}),
        disabled=("LOC-PAD",),
    )
    async with inspecting(inspection(lambda: little)) as (app, pilot):
        shown = text_of(app)
        assert "? nothing new found · 3 instances of 1 rule judged, 42.8 % of all" in shown
        assert "? nothing new found" in shown and "✓ nothing" not in shown
        assert "known 2 findings of the baseline left out (MOV-PAIR 2) · disabled LOC-PAD" in shown
        await pilot.press("u")
        await pilot.pause()
        assert "LOC-PAD, by the configuration" in text_of(app)


async def test_nothing_judged_is_not_called_clean() -> None:
    async with inspecting(inspection(CheckResult)) as (app, _):
        assert "can't be judged: no instance of any rule had what it needs" in text_of(app)
        assert "nothing could be judged; u says why" in text_of(app)
        assert "no finding" not in text_of(app)


async def test_a_run_without_verifies_shows_its_events() -> None:
    async with inspecting(inspection(clean, SmallProcess(SmallRun(0)))) as (app, pilot):
        await pilot.press("v")
        await until(pilot, lambda: "no verify: no file of the" in text_of(app))
        await pilot.press("e")
        await until(pilot, lambda: "finish" in text_of(app))
        assert here(app)[0] is EventsScreen


async def test_text_of_the_recording_is_neither_markup_nor_control_code() -> None:
    run = SmallRun(6)
    run.request[0] = "[red]x[/red]\x1b[2J\u202e"
    looked_at = inspection(
        broken, SmallProcess(run), name="a[b]\n.speckv", problems=("part \x9b is [bold]damaged",)
    )
    async with inspecting(looked_at, Place(LABEL, 0), size=(120, 30)) as (app, pilot):
        assert "[red]x[/red]\\x1b[2J\\u202e" in text_of(app)
        assert "a[b]\\n.speckv" in text_of(app)
        await pilot.press("f")
        assert "part \\x9b is [bold]damaged" in text_of(app)
        await pilot.press("slash", *"[/x]", "enter")
        await pilot.pause()
        assert "[/x]" in text_of(app)


async def test_processes_are_gone_through_with_o() -> None:
    ranks = (SmallProcess(SmallRun(6), "tp0-1"), SmallProcess(SmallRun(60), "tp1-2"))
    async with inspecting(inspection(clean, *ranks)) as (app, pilot):
        await pilot.press("v", "o")
        assert app.screen_stack[-1].query_one("PlaceBar").crumbs[1] == "tp1-2"  # type: ignore[attr-defined]
        await pilot.press("enter", "o")
        assert isinstance(app.screen, StepScreen) and app.screen.place == Place("tp0-1", 0)
        await pilot.press("O")
        assert app.screen.place == Place("tp1-2", 0)


async def test_help_lists_the_keys_of_the_screen_below() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("enter", "question_mark")
        assert isinstance(app.screen, Sheet)
        shown = text_of(app)
        assert "Next verify of this request" in shown and "→ l" in shown
        await pilot.press("escape")
        assert here(app) == (StepScreen, 36)


async def test_u_shows_all_that_was_not_judged() -> None:
    async with inspecting(inspection(broken, problems=("accept/00003.parquet: damaged",))) as (app, pilot):
        await pilot.press("u")
        await pilot.pause()
        shown = text_of(app)
        assert "OWN-RACE             41  needs device times: record --level 3" in shown
        assert "accept/00003.parquet: damaged" in shown
        await pilot.press("u")
        assert here(app) == (FindingsScreen, None)


async def test_enter_on_an_event_opens_its_verify() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("e")
        await until(pilot, lambda: "event 460" in text_of(app))
        await pilot.press("enter")
        assert here(app) == (StepScreen, 36)
        await pilot.press("e")
        await until(pilot, lambda: "event 460" in text_of(app))
        await pilot.press("j", "enter")
        await until(pilot, lambda: "this event is no verify" in text_of(app))


async def test_the_palette_runs_any_action_by_name() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("ctrl+p")
        await until(pilot, lambda: CommandPalette.is_open(app) and app.focused is not None)
        await pilot.press(*"steps")
        await until(pilot, lambda: "go: steps" in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: here(app)[0] is StepsScreen)


async def test_every_key_has_a_sentence_and_stands_in_the_manual() -> None:
    manual = MANUAL.read_text()
    ranks = (SmallProcess(SmallRun(60)), SmallProcess(SmallRun(60), "tp1-2"))
    async with inspecting(inspection(broken, *ranks)) as (app, pilot):
        for opening in ((), ("v",), ("enter",), ("e",), ("p",), ("s",), ("i",)):
            await pilot.press(*opening)
            for deed in deeds(app.screen):
                assert deed.sentence, deed
                assert all(f"`{key}`" in manual for key in deed.keys), deed
                assert deed.area == "move" or f"| {deed.sentence} |" in manual, deed


async def test_light_and_dark() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("ctrl+t")
        assert app.theme == "textual-light"
        await pilot.press("ctrl+t")
        assert app.theme == "textual-dark"


@pytest.mark.parametrize("size", [(1, 1), (3, 24), (20, 6), (80, 24), (119, 39), (200, 60)])
async def test_no_size_breaks_a_screen(size: tuple[int, int]) -> None:
    async with inspecting(size=size) as (app, pilot):
        await pilot.press("enter", "v", "e", "f", "question_mark", "escape")
        await pilot.resize_terminal(80, 24)
        assert here(app) == (FindingsScreen, None)


async def test_a_screen_that_was_left_is_let_go_of() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("v")
        left = weakref.ref(app.screen)
        assert isinstance(left(), StepsScreen)
        await pilot.press("escape")
        await until(pilot, lambda: left() is None)


async def test_what_was_not_judged_is_filled_in_when_the_check_is_over() -> None:
    release = threading.Event()

    def slow() -> CheckResult:
        release.wait(60)
        return broken()

    app = InspectorApp(inspection(slow))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("u")
        await until(pilot, lambda: text_of(app).count("is known when the check is over") == 1)
        release.set()
        await until(pilot, lambda: "OWN-RACE" in text_of(app) and "41  needs device times" in text_of(app))


async def test_the_verify_beside_the_steps_says_nothing_of_what_is_not_read_for_it() -> None:
    async with inspecting(size=(200, 60)) as (app, pilot):
        await pilot.press("v", "j")
        await until(pilot, lambda: "Draft tree" in text_of(app))
        assert "Compaction" not in text_of(app)
        await pilot.press("enter")
        await until(pilot, lambda: "Compaction" in text_of(app) and "predict" in text_of(app))


async def test_a_warning_alone_is_headed_by_the_sign_of_warnings() -> None:
    warned = CheckResult(findings=(leak(),), checked={"OWN-LEAK": 3})
    async with inspecting(inspection(lambda: warned)) as (app, _):
        assert "! 1 finding" in text_of(app).splitlines()[0]
        assert "! 1 root cause" in text_of(app) and "✗" not in text_of(app).splitlines()[0]


async def test_a_slot_that_the_pool_can_not_have_is_refused_where_one_stands() -> None:
    process = SmallProcess(SmallRun())
    pool = Pool(name="full", kind="full", page_size=128, slots=65536)
    process.info = dataclasses.replace(process.info, pools=(pool,))
    async with inspecting(inspection(broken, process)) as (app, pilot):
        await pilot.press("colon", *"slot 99999", "enter")
        assert all(words in text_of(app) for words in ("no slot 99999", "slots are 128"))
        assert here(app) == (FindingsScreen, None)
        await pilot.press("colon", *"page 512", "enter")
        assert all(words in text_of(app) for words in ("no page 512", "pages are 1 to"))
        await pilot.press("colon", *"slot 1 nowhere", "enter")
        assert "no pool nowhere" in text_of(app)
        assert here(app) == (FindingsScreen, None)


async def test_tab_goes_to_the_next_part_and_the_cursor_tells_where_the_keys_go() -> None:
    async with inspecting() as (app, pilot):
        assert "› ✗ E" in text_of(app)
        await pilot.press("tab")
        assert "· ✗ E" in text_of(app)
        assert "›" not in text_of(app)
        await pilot.press("shift+tab")
        assert "› ✗ E" in text_of(app)


async def test_the_key_that_gives_up_stands_first_while_something_takes_long() -> None:
    go_on = threading.Event()

    class Slow(SmallProcess):
        def history(self, question: Question) -> History:
            go_on.wait(60)
            return super().history(question)

    async with inspecting(inspection(broken, Slow(SmallRun()))) as (app, pilot):
        await pilot.press("colon", *"slot 42082", "enter")
        await until(pilot, lambda: text_of(app).splitlines()[-1].startswith(" x Give up"))
        go_on.set()
        await until(pilot, lambda: "x Give up" not in text_of(app))


async def test_events_are_named_by_the_one_under_the_cursor() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("e")
        await until(pilot, lambda: "▸ event 460 (accept)" in text_of(app))
        await pilot.press("j")
        assert "▸ event 461 (move)" in text_of(app)


async def test_in_a_narrow_terminal_the_place_comes_before_how_far_along_it_is() -> None:
    async with inspecting(place=Place(LABEL, 36), size=(60, 20)) as (app, _):
        top = text_of(app).splitlines()[0]
        assert "step 812 ▸ request 7" in top
        assert top.startswith(" run.s")
        assert "37 of 60" not in top
