"""Strips, merged runs, hanging lines; and panels that draw only what has become another."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.content import Content
from textual.strip import Strip

from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.drawing import hanging, merged, same, strip_of, strip_of_runs
from speckv_debug.viewers.tui.widgets import lines as module
from speckv_debug.viewers.tui.widgets.lines import Lines


class Panel(Lines):
    """What it is told."""

    def __init__(self, *said: str) -> None:
        super().__init__()
        self.said = said

    def lines(self, width: int, height: int) -> Iterable[Content]:
        return map(Content, self.said)


class Host(App[None]):
    CSS = "Panel { height: auto; }"

    def compose(self) -> ComposeResult:
        yield Panel("one", "two", "three")


def test_runs_of_one_look_become_one() -> None:
    assert merged([("a", "x"), ("b", "x"), ("c", ""), ("d", "x")]) == [("ab", "x"), ("c", ""), ("d", "x")]


def test_a_long_text_goes_on_below_its_beginning() -> None:
    lines = [
        line.plain.rstrip() for line in hanging(Content("law   "), Content("one two three four five"), 22)
    ]
    assert lines == ["law   one two three", "      four five"]


def test_a_colour_alone_makes_a_line_another_one() -> None:
    plain, red = Content("x"), Content.styled("x", "red")
    assert plain == red and not same(plain, red) and same(red, Content.styled("x", "red"))


async def test_strips_have_the_width_asked_for_and_share_their_styles() -> None:
    app = Host()
    async with app.run_test():
        ground = app.screen.visual_style
        line = Content.assemble(("語語", ink.BAD), " and ", ("more", ink.BAD))
        for width in (3, 7, 40):
            assert strip_of(line, width, ground).cell_length == width
        segments: list[Segment] = list(strip_of(line, 40, ground))
        assert segments[0].style is segments[2].style
        runs = [("#" * 5, ink.GOOD), ("··", "")]
        assert [strip_of_runs(runs, width, ground).text for width in (4, 9)] == ["####", "#####··  "]


async def test_only_lines_that_became_others_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Host()
    drawn: list[str] = []
    real = module.strip_of

    def counted(line: Content, *more: object) -> Strip:
        drawn.append(line.plain)
        return real(line, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "strip_of", counted)
    async with app.run_test() as pilot:
        panel = app.query_one(Panel)
        await pilot.pause()
        drawn.clear()
        panel.redraw()
        await pilot.pause()
        assert drawn == []
        panel.said = ("one", "2", "three")
        panel.redraw()
        await pilot.pause()
        assert drawn == ["2"]
        panel.said = ("one", "2", "three", "four")
        panel.redraw()
        await pilot.pause()
        assert panel.size.height == 4 and "four" in drawn
