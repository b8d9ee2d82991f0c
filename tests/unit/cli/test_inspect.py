"""Where the inspector can't be drawn it says so, and never begins; its exit code says how it was left."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partialmethod
from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot

from speckv_debug.cli import inspect, main
from speckv_debug.errors import UsageError
from speckv_debug.exit_codes import ExitCode
from speckv_debug.model.finding import CheckResult
from speckv_debug.viewers.tui.app import InspectorApp
from speckv_debug.viewers.tui.screens.overview import OverviewScreen
from tests.inspected import broken, inspection
from tests.inspecting import until


@pytest.mark.parametrize("term", ["dumb", "", None])
def test_a_terminal_that_cannot_be_drawn_on_is_refused(
    term: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.delenv("TERM", raising=False)
    if term is not None:
        monkeypatch.setenv("TERM", term)
    with pytest.raises(UsageError, match="TERM is dumb or not set") as refused:
        inspect.run(argparse.Namespace(recording=Path("run.speckv")))
    assert "speckv-debug check run.speckv" in refused.value.remedy


def judged_nothing() -> CheckResult:
    return CheckResult()


@pytest.mark.parametrize(
    ("key", "found", "code"),
    [
        ("q", broken, ExitCode.CLEAN),
        ("q", judged_nothing, ExitCode.CLEAN),
        ("ctrl+c", broken, ExitCode.INTERRUPTED),
        ("e", broken, 1),
    ],
    ids=["left, whatever was found", "left, nothing judged", "interrupted", "broken down"],
)
def test_the_exit_code_says_how_the_screens_were_left(
    key: str,
    found: Callable[[], CheckResult],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def breaks_down(screen: OverviewScreen) -> None:
        raise ZeroDivisionError("the screen broke down")

    async def types(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, InspectorApp)
        await until(pilot, lambda: app.outcome is not None)
        await pilot.press(key)

    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(inspect, "inspection_at", lambda path, policy: inspection(found))
    monkeypatch.setattr(OverviewScreen, "action_events", breaks_down)
    monkeypatch.setattr(InspectorApp, "run", partialmethod(App.run, headless=True, auto_pilot=types))
    assert main(["inspect", "run.speckv"]) == code
    shown = capsys.readouterr().err
    assert "next: speckv-debug report run.speckv" in shown
    assert ("the screen broke down" in shown) == (code == 1)
