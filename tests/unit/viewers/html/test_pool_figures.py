"""The figures of a pool: the state where a span ends, and a colour a use."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from speckv_debug.replay.pool_series import PoolSeries
from speckv_debug.replay.pool_state import Use
from speckv_debug.viewers.html.pool_figures import OWNERS, heat_figure, owner_words, owners_figure
from tests.inspected_pages import small_series


def spans_of_five() -> PoolSeries:
    """Fewest, last and most differ, as they do where a span is longer than a step."""
    series = small_series()
    return dataclasses.replace(series, span=5, low=series.last - 1, high=series.last + 2)


def test_owners_are_drawn_as_they_are_where_a_span_ends() -> None:
    series = spans_of_five()
    by_name = {area["name"]: area for area in owners_figure("owners-0-0", series, ()).body["data"]}
    for use in (Use.COMMITTED, Use.RESERVE, Use.FREE):
        area = by_name[owner_words(use, series)]
        assert area["y"] == series.last[use].tolist()
        assert area["customdata"] == [[last - 1, last + 2] for last in series.last[use].tolist()]
        assert area["fillcolor"] == OWNERS[use]


def test_each_page_of_the_map_has_the_colour_and_the_words_of_its_use() -> None:
    series = small_series()
    uses = np.array([[Use.FREE, Use.COMMITTED, Use.RESERVE, Use.UNHELD]], dtype=np.int8)
    blocks = np.repeat(uses, len(series.x), axis=0)
    figure = heat_figure(
        "pages-0-0",
        dataclasses.replace(series, blocks=blocks, holders=np.full(blocks.shape, -1, dtype=np.int32)),
        (),
    )
    (heat,) = figure.body["data"]
    for page, use in enumerate(uses[0].tolist()):
        number = heat["z"][page][0]
        assert heat["meta"]["names"][number] == owner_words(Use(use), series)
        assert colour(heat, number) == OWNERS[Use(use)]


def colour(heat: dict[str, Any], number: int) -> str:
    """What plotly paints: the step of the scale that the number falls in."""
    share = (number - heat["zmin"]) / (heat["zmax"] - heat["zmin"])
    return next(str(name) for (edge, _), (end, name) in zip(heat["colorscale"][::2], heat["colorscale"][1::2], strict=True) if edge <= share < end)  # fmt: skip
