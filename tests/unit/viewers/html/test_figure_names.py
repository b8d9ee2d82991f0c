"""Words from a recording in a figure are text: plotly, which reads links and line ends in them, finds none."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from speckv_debug.viewers.html.figures import Mark, accept_figure, lengths_figure
from speckv_debug.viewers.html.pool_figures import heat_figure
from speckv_debug.viewers.html.run_figures import counts_figure, requests_figure
from speckv_debug.viewers.html.run_series import accepts_by_request, drops, frees
from speckv_debug.viewers.html.series import accepts, lengths
from tests.inspected_pages import small_series
from tests.reported import accept, recording
from tests.reported import lengths as held

LINK = "<a href='x'>"
"""Short enough for a tick; plotly makes a link of it."""
NAME = f'{LINK}%{{x}}"</a>\u202e'
SAID = "<a href='x'>%{x}\"</a>\\u202e"


def texts(value: object) -> Iterator[str]:
    """All texts in a figure, whatever they are for."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts(each)


def drawn(folder: Path) -> dict[str, dict[str, Any]]:
    """Every figure that can show a word of the recording."""
    events: list[dict[str, Any]] = [accept(800, NAME), held(800, NAME)]
    events += [{"event": "free", "step": 800, "pool": "full", "slots": [1], "reason": NAME}]
    events += [{"event": "drop", "step": 800, "table": NAME, "rows": 1, "why": NAME}]
    process = recording(folder, events).processes[0]
    pool = small_series()
    pool = dataclasses.replace(pool, names=(NAME,), holders=pool.holders * 0)
    figures = {
        "request bars": requests_figure("a", accepts_by_request(process, [])[0]),
        "lengths": lengths_figure("b", lengths(process), (), None),
        "frees": counts_figure("c", frees(process), "slots", (), "slots"),
        "drops": counts_figure("d", drops(process), "events", (), "events"),
        "mark": accept_figure("e", accepts(process), [Mark(800, NAME)]),
        "holders": heat_figure("f", pool, ()),
    }
    return {name: figure.body for name, figure in figures.items()}


@pytest.mark.parametrize("name", ["request bars", "lengths", "frees", "drops", "mark", "holders"])
def test_no_text_of_a_figure_is_a_link(tmp_path: Path, name: str) -> None:
    said = [text for text in texts(drawn(tmp_path)[name]) if "href" in text]
    assert said
    for text in said:
        assert "<" not in text
        assert "&quot;" not in text, "plotly shows it as it stands"
        assert name == "mark" or "\u202e" not in text, "a mark's word is a rule's name"


def test_what_a_figure_says_is_the_recorded_name(tmp_path: Path) -> None:
    figures = drawn(tmp_path)
    (bars,) = figures["request bars"]["data"]
    assert html.unescape(bars["text"][0]) == SAID
    assert html.unescape(figures["request bars"]["layout"]["xaxis"]["ticktext"][0]) == f"{SAID[:9]}…"
    assert html.unescape(figures["frees"]["data"][0]["name"]) == SAID
    assert html.unescape(figures["holders"]["data"][0]["meta"]["holders"][0]) == SAID
    assert html.unescape(figures["lengths"]["data"][0]["name"]) == SAID
    assert (
        html.unescape(figures["mark"]["layout"]["annotations"][0]["text"]) == "✗ <a href='x'>%{x}\"</a>\u202e"
    )
