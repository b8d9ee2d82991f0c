"""The plotly figures of the run: accept lengths by request, moves, frees, drops."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from speckv_debug.model.text import printable
from speckv_debug.viewers.html.figures import (
    AXIS_TITLES,
    COLOURS,
    MARKED,
    Figure,
    Mark,
    edge,
    finished,
    layout,
    named,
    reach,
    short,
    when,
)
from speckv_debug.viewers.html.run_series import Over

MOST_NAMED = 12
"""Requests that are named below their bars."""
SIDE: dict[str, Any] = {
    "overlaying": "y",
    "side": "right",
    "range": [0, 102],
    "title": {"text": "in place, %"},
    "showgrid": False,
    "tickvals": [0, 25, 50, 75, 100],
}
"""The right axis of moves."""


def requests_figure(id: str, frame: pd.DataFrame) -> Figure:
    """Mean accept length of each request, with its lowest and highest."""
    figure = go.Figure([_means(frame)], layout("request, in the order of the run", "accepted rows a verify"))
    figure.update_layout(showlegend=False, bargap=0.25)
    if len(frame) <= MOST_NAMED:
        names = [html.escape(short(printable(who)), quote=False) for who in frame["request"]]
        figure.update_xaxes(tickvals=list(range(len(names))), ticktext=names, automargin=True)
    else:
        figure.update_xaxes(showticklabels=False)
    return finished(id, figure, (), axis="", whole=("y",))


def _means(frame: pd.DataFrame) -> go.Bar:
    return go.Bar(
        x=list(range(len(frame))),
        y=list(frame["mean"]),
        text=[named(who) for who in frame["request"]],
        textposition="none",
        customdata=frame[["low", "high", "verifies"]].astype(int).values.tolist(),
        error_y=reach(frame),
        marker={"color": "var(--accent)"},
        hovertemplate="request %{text}: mean %{y:.2f}, from %{customdata[0]} to %{customdata[1]}, "
        "%{customdata[2]} verifies<extra></extra>",
    )


def moves_figure(id: str, over: Over, marks: Sequence[Mark]) -> Figure:
    """Pairs a step inside the band from fewest to most; the share whose source is their target on the right axis."""
    band = [edge(over.frame, "high", None), edge(over.frame, "low", "tonexty")]
    names = when(over.axis, over.frame["x"], over.span)
    traces = [*band, _pairs(over.frame, names), _in_place(over.frame, names)]
    figure = go.Figure(traces, layout(AXIS_TITLES[over.axis], "pairs a step"))
    figure.update_layout(yaxis2=SIDE, margin={"r": 52}, showlegend=False)
    figure.update_yaxes(rangemode="tozero", selector={"overlaying": None})
    return finished(id, figure, marks, axis=over.axis, span=over.span)


def _pairs(frame: pd.DataFrame, names: list[str]) -> go.Scatter:
    return go.Scatter(
        x=list(frame["x"]),
        y=list(frame["mean"]),
        customdata=frame[["low", "high", "pairs"]].astype(int).values.tolist(),
        mode="lines+markers" if len(frame) <= MARKED else "lines",
        line={"color": "var(--accent)", "width": 2},
        name="pairs a step",
        hovertext=names,
        hovertemplate="%{hovertext}: %{y:.4g} pairs a step, from %{customdata[0]} to %{customdata[1]}<extra></extra>",
    )


def _in_place(frame: pd.DataFrame, names: list[str]) -> go.Scatter:
    both = zip(frame["same"], frame["pairs"], strict=True)
    return go.Scatter(
        x=list(frame["x"]),
        y=[100 * same / pairs if pairs else None for same, pairs in both],
        yaxis="y2",
        mode="lines",
        line={"color": "var(--c2)", "width": 1.6, "dash": "dot"},
        name="already in place, %",
        hovertext=names,
        hovertemplate="%{hovertext}: %{y:.1f} % of the pairs are already in place<extra></extra>",
    )


def counts_figure(id: str, over: Over, y: str, marks: Sequence[Mark], noun: str) -> Figure:
    """Stacked bars, one colour a name."""
    named = enumerate(over.frame.groupby("name", sort=True))
    traces = [_bars(number, str(name), frame, over, noun) for number, (name, frame) in named]
    figure = go.Figure(traces, layout(AXIS_TITLES[over.axis], y))
    figure.update_layout(barmode="stack", bargap=0, showlegend=False)
    return finished(id, figure, marks, axis=over.axis, span=over.span)


def _bars(number: int, name: str, frame: pd.DataFrame, over: Over, noun: str) -> go.Bar:
    """Sums, and of a span of several steps the fewest and most of one of them."""
    each = "step" if over.axis == "step" else "event"
    of = (
        f" in %{{customdata[2]}} {each}s, from %{{customdata[0]}} to %{{customdata[1]}} in one"
        if over.span > 1
        else ""
    )
    return go.Bar(
        x=list(frame["x"]),
        y=list(frame["count"]),
        name=named(name),
        width=over.span,
        offset=0,
        marker={"color": f"var(--c{number % COLOURS + 1})", "line": {"width": 0}},
        hovertext=when(over.axis, frame["x"], over.span),
        customdata=frame[["low", "high", "steps"]].astype(int).values.tolist() if over.span > 1 else None,
        hovertemplate=f"%{{hovertext}}: %{{y}} {noun}{of}, %{{fullData.name}}<extra></extra>",
    )
