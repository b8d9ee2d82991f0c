"""Keys that come faster than screens can follow."""

from __future__ import annotations

import random

import pytest
from textual.events import Key

from speckv_debug.viewers.tui.app import InspectorApp
from speckv_debug.viewers.tui.places import Place
from speckv_debug.viewers.tui.screens.findings import FindingsScreen
from speckv_debug.viewers.tui.screens.step import StepScreen
from speckv_debug.viewers.tui.typed_ahead import LONGEST_S, TypedAhead
from speckv_debug.viewers.tui.widgets.prompt import Prompt
from tests.inspecting import here, inspecting, until
from tests.smallest import LABEL


@pytest.mark.parametrize(
    ("keys", "index"),
    [
        (("colon", *"812", "enter"), 36),
        (("colon", *"812", "enter", "l", "l"), 42),
        (("slash", *"chat", "escape", "l"), 3),
        (("colon", *"812", "enter", "colon", *"813", "enter", "l"), 42),
    ],
    ids=["a place", "and on", "given up", "two places"],
)
async def test_keys_typed_ahead_go_where_they_were_meant(keys: tuple[str, ...], index: int) -> None:
    async with inspecting(place=Place(LABEL, 0)) as (app, pilot):
        type_ahead(app, *keys)
        await until(pilot, lambda: here(app) == (StepScreen, index))


def test_keys_wait_no_longer_for_a_prompt_whose_screen_is_gone() -> None:
    now = 5.0
    ahead, prompt = TypedAhead(lambda: now), Prompt()
    assert not ahead.keeps(Key("enter", None), prompt)
    assert ahead.keeps(Key("l", "l"), prompt)
    assert not ahead.overdue
    now += LONGEST_S + 0.1
    assert ahead.overdue
    assert [key.key for key in ahead.taken()] == ["l"]
    assert not ahead.keeps(Key("l", "l"), prompt)


@pytest.mark.parametrize(
    "burst",
    [["enter"] * 3, ["enter", "right", "e", "n"], ["v", "v", "enter", "enter"], ["e", "n", "n", "v"]],
    ids=" ".join,
)
async def test_a_screen_that_is_still_being_built_takes_no_harm(burst: list[str]) -> None:
    async with inspecting() as (app, pilot):
        type_ahead(app, *burst)
        await pilot.pause(0.3)
        await pilot.press("f")
        assert here(app) == (FindingsScreen, None)


@pytest.mark.parametrize("seed", range(2))
async def test_no_order_of_keys_breaks_a_screen(seed: int) -> None:
    keys = [
        "enter",
        "v",
        "e",
        "f",
        "n",
        "N",
        "escape",
        "j",
        "G",
        "g",
        "right",
        "left",
        "r",
        "R",
        "slash",
        "colon",
    ]
    keys += ["question_mark", "u", "h", "l", "7", "pagedown", "o", "left_square_bracket", "tab", "ctrl+t"]
    async with inspecting() as (app, pilot):
        typed = random.Random(seed).choices(keys, k=80)
        for start in range(0, len(typed), 8):
            type_ahead(app, *typed[start : start + 8])
            await pilot.pause()
        await pilot.press("escape", "escape", "escape", "escape", "f")
        assert here(app) == (FindingsScreen, None)


def type_ahead(app: InspectorApp, *keys: str) -> None:
    """Press keys faster than they are handled."""
    for key in keys:
        app.post_message(Key(key, key if len(key) == 1 else {"slash": "/", "colon": ":"}.get(key)))
