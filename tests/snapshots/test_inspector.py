"""How the inspector looks: one picture a screen or gesture. What keys do is tested in tests/unit."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from speckv_debug.errors import RecordingError
from speckv_debug.model.finding import CheckResult
from speckv_debug.viewers.tui import following
from speckv_debug.viewers.tui.app import InspectorApp
from speckv_debug.viewers.tui.inspection import Inspection
from speckv_debug.viewers.tui.places import Place
from speckv_debug.viewers.tui.screens.asking import AskingScreen
from tests.inspected import SmallProcess, SmallRun, broken, clean, inspection
from tests.smallest import LABEL

SMALL, LARGE = (80, 24), (200, 60)
BROKEN = Place(LABEL, 36)
Looks = Callable[..., bool]


def checked(*keys: str, theme: str = "textual-dark") -> Callable[[Pilot[None]], Awaitable[None]]:
    """Wait for the check, then press `keys`."""

    async def run(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, InspectorApp)
        app.theme = theme
        while app.outcome is None:
            await pilot.pause(0.02)
        for key in keys:
            await pilot.press(key)
            await settled(pilot)
        await pilot.pause(0.1)
        await settled(pilot)

    return run


async def settled(pilot: Pilot[None]) -> None:
    """Wait for what the screen asks of others."""
    await pilot.pause()
    while isinstance(screen := pilot.app.screen, AskingScreen) and screen.asking:
        await pilot.pause(0.02)


def looks(
    snap_compare: Looks,
    *keys: str,
    size: tuple[int, int],
    looked_at: Inspection | None = None,
    **more: object,
) -> bool:
    """Whether the screen after `keys` is the one in the stored picture."""
    place = more.pop("place", None)
    app = InspectorApp(looked_at or inspection(), place if isinstance(place, Place) else None)
    return snap_compare(app, terminal_size=size, run_before=checked(*keys, **more))  # type: ignore[arg-type]


BOTH = pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])


@BOTH
def test_overview(snap_compare: Looks, size: tuple[int, int]) -> None:
    """Verdict, root causes with law, due and engine, accept lengths, pools over time, what is missing, the process."""
    assert looks(snap_compare, size=size)


@BOTH
def test_pages(snap_compare: Looks, size: tuple[int, int]) -> None:
    """The map at step 812 with a page of two owners, the line of steps above, the page in words and the legend."""
    assert looks(snap_compare, "p", size=size)


def test_pages_zoomed_out_on_a_light_ground(snap_compare: Looks) -> None:
    """Four pages a cell; the cell with the conflict shows it; cells of several uses are slanted."""
    assert looks(snap_compare, "p", "-", "-", "l", "l", size=SMALL, theme="textual-light")


@BOTH
def test_state(snap_compare: Looks, size: tuple[int, int]) -> None:
    """The pool's pages by use, counted pages with a wrong count marked, a ring cell by cell, two running requests."""
    assert looks(snap_compare, "s", size=size)


def test_findings_of_one_request(snap_compare: Looks) -> None:
    """Two of three findings, the filter named on top."""
    assert looks(snap_compare, "f", "w", size=SMALL)


def test_findings_small(snap_compare: Looks) -> None:
    """The verdict on top, two root causes and a consequence, the first one in full, what is unknown below."""
    assert looks(snap_compare, "f", size=SMALL)


def test_findings_large(snap_compare: Looks) -> None:
    """The same with the finding in full at the right, its evidence with ✗ at the broken row."""
    assert looks(snap_compare, "f", size=LARGE)


def test_nothing_found(snap_compare: Looks) -> None:
    """A green check mark and how much was judged; no empty panel."""
    assert looks(snap_compare, size=SMALL, looked_at=inspection(clean))


def test_cannot_be_judged(snap_compare: Looks) -> None:
    """A question mark, never 'nothing found', and why: the unjudged rules and a damaged part."""
    nothing = CheckResult(unknown=broken().unknown)
    looked_at = inspection(lambda: nothing, problems=("accept/00003.parquet: not readable, 120 rows lost",))
    assert looks(snap_compare, size=SMALL, looked_at=looked_at)


def test_check_is_running(snap_compare: Looks, monkeypatch: pytest.MonkeyPatch) -> None:
    """'checking' on top and in the headline, and the advice to look at the steps meanwhile."""
    never = threading.Event()

    async def reading_done(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, InspectorApp)
        while not app.progress.startswith("checking"):
            await pilot.pause(0.02)
        await pilot.pause()

    monkeypatch.setattr(InspectorApp, "_tick", lambda self: None)
    app = InspectorApp(inspection(lambda: broken() if never.wait(30) else clean()))
    assert snap_compare(app, terminal_size=SMALL, run_before=reading_done)
    never.set()


def test_steps_small(snap_compare: Looks) -> None:
    """The run as columns with findings and cursor below it; one line a verify, bars, ✗ at two of them."""
    assert looks(snap_compare, "v", "colon", *"811", "enter", size=SMALL)


def test_steps_large(snap_compare: Looks) -> None:
    """The list at the left, the verify under the cursor drawn at the right."""
    assert looks(snap_compare, "v", "colon", *"812", "enter", size=LARGE)


def test_steps_of_one_request(snap_compare: Looks) -> None:
    """While 'chat' is typed below, only the verifies of chat-19 are listed, 20 of them."""
    assert looks(snap_compare, "v", "slash", *"chat", size=SMALL)


def test_step_small(snap_compare: Looks) -> None:
    """Finding, tree with the accepted path, table with the move that ran backwards, strips, room: 80 columns."""
    assert looks(snap_compare, size=SMALL, place=BROKEN)


def test_step_large(snap_compare: Looks) -> None:
    """Tree and table side by side; below all verifies of the request with this one under the cursor."""
    assert looks(snap_compare, size=LARGE, place=BROKEN)


def test_step_in_the_light_theme(snap_compare: Looks) -> None:
    """The same on a light ground, every word still readable."""
    assert looks(snap_compare, size=SMALL, place=BROKEN, theme="textual-light")


@BOTH
def test_events_around_a_finding(snap_compare: Looks, size: tuple[int, int]) -> None:
    """Events as recorded with the finding's own marked and in full below."""
    assert looks(snap_compare, "f", "e", size=size)


@BOTH
def test_help(snap_compare: Looks, size: tuple[int, int]) -> None:
    """The keys of the step screen by area, over the dimmed screen."""
    assert looks(snap_compare, "f1", size=size, place=BROKEN)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
def test_hostile_text(snap_compare: Looks, size: tuple[int, int]) -> None:
    """Brackets and escape codes of the recording are shown as they are, nothing turns red or disappears."""
    hostile = dataclasses.replace(
        broken().findings[0],
        message="[red]not red[/red] \x1b[31mnot red either\x1b[0m",
        expected="[/]",
        actual="\x9b2J",
    )
    result = dataclasses.replace(broken(), findings=(hostile,))
    assert looks(snap_compare, "f", size=size, looked_at=inspection(lambda: result))


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
def test_history_of_a_slot(snap_compare: Looks, size: tuple[int, int]) -> None:
    """Four events in order, the one with a finding marked and under the cursor, what is unknown below."""
    assert looks(snap_compare, ":", *"slot 42082", "enter", size=size)


@BOTH
def test_the_life_of_a_request(snap_compare: Looks, size: tuple[int, int]) -> None:
    """Seven events as a ladder to one scale: the prompt, a reserve, a verify that commits three, its move, the release; the row is named once."""
    assert looks(snap_compare, ":", *"life 7", "enter", size=size)


@BOTH
def test_following(snap_compare: Looks, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty steps were judged and fifteen have come since: what was found stays, with the part that it is about, and the steps go on."""
    release = threading.Event()
    monkeypatch.setattr(InspectorApp, "_tick", lambda self: None)
    monkeypatch.setattr(following, "EVERY_S", 0.05)

    def longer() -> Inspection:
        return dataclasses.replace(
            inspection(lambda: broken() if release.wait(30) else clean(), SmallProcess(SmallRun(60))),
            reopen=longer,
        )

    looked_at = dataclasses.replace(inspection(broken, SmallProcess(SmallRun(45))), reopen=longer)

    async def grown(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, InspectorApp)
        while app.outcome is None:
            await pilot.pause(0.02)
        await pilot.press("v", "G")
        while not app.reopened or not app.progress.startswith("checking"):
            await pilot.pause(0.02)
        await pilot.pause(0.2)

    assert snap_compare(InspectorApp(looked_at), terminal_size=size, run_before=grown)
    release.set()


@BOTH
def test_a_followed_recording_is_gone(
    snap_compare: Looks, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place says that the recording is gone; what was read of it is still there."""
    monkeypatch.setattr(following, "EVERY_S", 0.05)

    def again() -> Inspection:
        raise RecordingError("run.speckv is no recording", "give the folder")

    async def gone(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, InspectorApp)
        while app.outcome is None or not app.lost:
            await pilot.pause(0.02)
        await pilot.pause(0.2)

    looked_at = dataclasses.replace(inspection(), reopen=again)
    assert snap_compare(InspectorApp(looked_at), terminal_size=size, run_before=gone)
