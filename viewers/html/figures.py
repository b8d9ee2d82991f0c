"""The plotly figures: accept lengths and their distribution, committed and allocated length a request.

Words of a recording are escaped for plotly, which takes `<` and `&` for markup but shows `&quot;` as it stands.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from speckv_debug.model.text import cut, printable
from speckv_debug.viewers.html.series import Accepts, Lengths

AXIS_TITLES = {"step": "engine step", "seq": "event (no steps recorded)"}
HEIGHT = 300
COLOURS = 8
MOST_MARKS = 12
MOST_TICKS = 10
SMALL = {"color": "var(--bad)", "size": 11}
NOTE: dict[str, Any] = {
    "x": 1,
    "y": 1.08,
    "xref": "paper",
    "yref": "paper",
    "showarrow": False,
    "font": SMALL,
}
"""What stands above a figure on the right."""
MOST_OF_NAME = 200
"""Characters of a request's name or of a reason where the pointer rests."""
MARKED = 60
"""Points up to which each has a mark of its own."""
MOST_LENGTHS = 64
"""Accept length up to which each one has a bar."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A step to mark in every figure over steps, with its word."""

    step: int
    word: str


@dataclass(frozen=True, slots=True)
class Figure:
    """One plotly figure for the page's script, colours as names of the page's CSS variables.

    `span`: how many steps a point stands for, from its x on; 0 where x is no step.
    """

    id: str
    body: dict[str, Any]
    span: int = 0


def when(axis: str, x: Iterable[int], span: int) -> list[str]:
    """What each point stands for, in words: `step 9`, `steps 10 to 14`."""
    noun = "step" if axis == "step" else "event"
    return [f"{noun} {at}" if span == 1 else f"{noun}s {at} to {at + span - 1}" for at in map(int, x)]


def named(text: str) -> str:
    """A name as plotly shows it: no markup, no overlong word."""
    return html.escape(printable(cut(text, MOST_OF_NAME)), quote=False)


def short(name: str, most: int = 10) -> str:
    """The beginning of a long name."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def accept_figure(id: str, accepts: Accepts, marks: Sequence[Mark]) -> Figure:
    """Mean accept length over steps inside the band from lowest to highest."""
    real, fake = accepts.over_steps, accepts.simulated
    edges = [edge(real, "high", None), edge(real, "low", "tonexty")]
    traces = [*edges, _mean(real, when(accepts.axis, real["x"], accepts.span))] if len(real) else []
    if len(fake):
        traces.append(_simulated(fake, when(accepts.axis, fake["x"], accepts.span)))
    figure = go.Figure(traces, layout(AXIS_TITLES[accepts.axis], "accepted rows a verify"))
    highest = max([*real["high"], *fake["high"], 1.0])
    figure.update_yaxes(range=[0, highest + 0.5])
    return finished(id, figure, marks, axis=accepts.axis, span=accepts.span)


def distribution(counts: Mapping[int, int]) -> list[tuple[int, str, int]]:
    """Place, words and verifies of each bar; lengths that no verify can have are put together at either end."""
    if not counts:
        return []
    first, last = max(0, min(1, *counts)), min(max(counts), MOST_LENGTHS)
    bars = [(length, str(length), counts.get(length, 0)) for length in range(first, last + 1)]
    if fewer := sum(count for length, count in counts.items() if length < 0):
        bars.insert(0, (-1, "fewer than 0", fewer))
    if more := sum(count for length, count in counts.items() if length > MOST_LENGTHS):
        bars.append((MOST_LENGTHS + 1, f"more than {MOST_LENGTHS}", more))
    return bars


def distribution_figure(id: str, accepts: Accepts) -> Figure:
    """How many verifies accepted how many rows."""
    drawn = distribution(accepts.counts)
    bars = go.Bar(
        x=[place for place, _, _ in drawn],
        y=[count for _, _, count in drawn],
        customdata=[[words, 100 * count / accepts.verifies] for _, words, count in drawn],
        marker={"color": "var(--accent)"},
        hovertemplate="%{customdata[0]} accepted: %{y} verifies, %{customdata[1]:.1f} %<extra></extra>",
    )
    figure = go.Figure([bars], layout("accepted rows", "verifies"))
    figure.update_layout(bargap=0.25, showlegend=False)
    return finished(id, figure, (), axis="")


def lengths_figure(id: str, lengths: Lengths, marks: Sequence[Mark], shown: str | None) -> Figure:
    """Two lines a request, the reserve between them tinted; `shown` alone is visible unless it is None."""
    traces: list[go.Scatter] = []
    for number, (request, lives) in enumerate(lengths.lives.items()):
        for life in lives:
            traces += _pair(number, request, life, alone=None if shown is None else request == shown)
    figure = go.Figure(traces, layout(AXIS_TITLES[lengths.axis], "positions"))
    figure.update_layout(showlegend=False)
    figure.update_yaxes(rangemode="tozero")
    return finished(id, figure, marks, axis=lengths.axis)


def _pair(
    number: int, request: str, life: pd.DataFrame, *, alone: bool | None
) -> tuple[go.Scatter, go.Scatter]:
    """Committed and allocated; the reserve is tinted where a request stands alone."""
    colour = {"color": f"var(--c{number % COLOURS + 1})", "shape": "hv"}
    common = {
        "x": list(life["x"]),
        "mode": "lines",
        "name": named(request),
        "visible": alone is not False,
        "hovertemplate": "%{fullData.meta.length} %{y}, %{xaxis.title.text} %{x}",
    }
    tint = {"fill": "tonexty" if alone else "none", "fillcolor": "var(--reserve)"}
    looks: dict[str, dict[str, Any]] = {
        "committed": {"line": {**colour, "width": 2}},
        "allocated": {"line": {**colour, "width": 1, "dash": "dot"}, **tint},
    }
    committed, allocated = (
        go.Scatter(y=_gaps(life[word]), meta={"request": number, "length": word}, **look, **common)
        for word, look in looks.items()
    )
    return committed, allocated


def _gaps(values: Iterable[float]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values]


def edge(frame: pd.DataFrame, column: str, fill: str | None) -> go.Scatter:
    """One edge of the band from lowest to highest, which the second one fills."""
    return go.Scatter(
        x=list(frame["x"]),
        y=list(frame[column]),
        mode="lines",
        line={"width": 0, "shape": "hvh", "color": "var(--accent)"},
        fill=fill,
        fillcolor="var(--reserve)",
        name="lowest to highest",
        showlegend=fill is not None,
        hoverinfo="skip",
    )


def _mean(frame: pd.DataFrame, names: list[str]) -> go.Scatter:
    return go.Scatter(
        x=list(frame["x"]),
        y=list(frame["mean"]),
        customdata=frame[["low", "high", "verifies"]].astype(int).values.tolist(),
        mode="lines+markers" if len(frame) <= MARKED else "lines",
        line={"color": "var(--accent)", "width": 2},
        name="mean",
        hovertext=names,
        hovertemplate="%{hovertext}: mean %{y:.2f}, from %{customdata[0]} to %{customdata[1]}, "
        "%{customdata[2]} verifies<extra></extra>",
    )


def _simulated(frame: pd.DataFrame, names: list[str]) -> go.Scatter:
    """Means, each with a line from the lowest to the highest."""
    return go.Scatter(
        x=list(frame["x"]),
        y=list(frame["mean"]),
        customdata=frame[["low", "high", "verifies"]].astype(int).values.tolist(),
        error_y=reach(frame),
        mode="markers",
        marker={"symbol": "x-thin-open", "color": "var(--muted)", "size": 8},
        name="simulated, not counted",
        hovertext=names,
        hovertemplate="%{hovertext}: simulated, mean %{y:.2f}, from %{customdata[0]} to %{customdata[1]}, "
        "%{customdata[2]} verifies, not counted<extra></extra>",
    )


def reach(frame: pd.DataFrame) -> dict[str, Any]:
    """The thin line from the lowest to the highest."""
    up, down = list(frame["high"] - frame["mean"]), list(frame["mean"] - frame["low"])
    line = {"color": "var(--muted)", "thickness": 1, "width": 2}
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, **line}


def layout(x: str, y: str) -> dict[str, Any]:
    """What all figures have in common, with the titles of both axes."""
    axis = {"gridcolor": "var(--line)", "zerolinecolor": "var(--line)", "linecolor": "var(--line)"}
    return {
        "template": go.layout.Template(),
        "height": HEIGHT,
        "margin": {"l": 52, "r": 12, "t": 28, "b": 46},
        "font": {"color": "var(--text)", "family": "system-ui, sans-serif", "size": 12},
        "paper_bgcolor": "var(--card)",
        "plot_bgcolor": "var(--card)",
        "xaxis": {**axis, "title": {"text": x}},
        "yaxis": {**axis, "title": {"text": y}},
        "legend": {"orientation": "h", "x": 0, "y": 1.14},
        "hoverlabel": {"namelength": -1},
        "hovermode": "closest",
    }


def finished(
    id: str,
    figure: go.Figure,
    marks: Sequence[Mark],
    *,
    axis: str = "step",
    span: int = 1,
    whole: tuple[str, ...] = ("x", "y"),
) -> Figure:
    """The figure with its marks where its axis is of steps, and no ticks between two whole numbers on the axes named `whole`."""
    apart = list(dict.fromkeys(marks)) if axis == "step" else []
    shown = apart[:MOST_MARKS]
    _whole_ticks(figure, whole, shown)
    for mark in shown:
        figure.add_vline(**_line(mark))
    if hidden := len(apart) - len(shown):
        figure.add_annotation(**NOTE, text=f"{hidden} more ✗ not marked")
    return Figure(id, figure.to_plotly_json(), span if axis == "step" else 0)


def _line(mark: Mark) -> dict[str, Any]:
    """A dashed line at its step, with its word on top."""
    return {
        "x": mark.step,
        "line": {"color": "var(--bad)", "width": 1.5, "dash": "dash"},
        "annotation": {"text": html.escape(f"✗ {mark.word}", quote=False), "font": SMALL},
        "annotation_position": "top right",
    }


def _whole_ticks(figure: go.Figure, whole: tuple[str, ...], marks: Sequence[Mark]) -> None:
    """No tick between two whole numbers, which an axis over a short span would get."""
    beside: dict[str, list[float]] = {"x": [mark.step for mark in marks], "y": _ends(figure)}
    left = partial(figure.update_yaxes, selector={"overlaying": None})
    for axis, update in (("x", figure.update_xaxes), ("y", left)):
        drawn = [trace for trace in figure.data if axis == "x" or trace.yaxis in (None, "y")]
        values = [value for trace in drawn for value in trace[axis] or () if value is not None]
        reached = [*values, *beside[axis]]
        if axis in whole and (not values or max(reached) - min(reached) <= MOST_TICKS):
            update(dtick=1)


def _ends(figure: go.Figure) -> list[float]:
    """What the axis of amounts reaches beside them: nothing, the end that it was given, bars one upon the other."""
    given: list[float] = [0, *list(figure.layout.yaxis.range or [])]
    stacked = figure.layout.barmode == "stack"
    return [*given, sum(max(trace.y, default=0) for trace in figure.data)] if stacked else given
