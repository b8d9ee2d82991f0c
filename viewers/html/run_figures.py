"""The plotly figures of the run: accept lengths by request, who owns the pool, moves, frees, drops."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from speckv_debug.model.text import printable
from speckv_debug.replay.pool_series import PoolSeries
from speckv_debug.replay.pool_state import Use
from speckv_debug.viewers.html.figures import AXIS_TITLES, COLOURS, Figure, Mark, finished, layout, when
from speckv_debug.viewers.html.pages import WORDS
from speckv_debug.viewers.html.run_series import Over

OWNERS: dict[Use, str] = {
    Use.COMMITTED: "var(--u-committed)",
    Use.RESERVE: "var(--u-reserve)",
    Use.GRANTED: "var(--u-granted)",
    Use.SESSION: "var(--u-session)",
    Use.LOCKED: "var(--u-locked)",
    Use.EVICTABLE: "var(--u-tree)",
    Use.TREE: "var(--u-tree)",
    Use.WAITING: "var(--u-waiting)",
    Use.TRANSFER: "var(--u-transfer)",
    Use.CONFLICT: "var(--u-conflict)",
    Use.UNHELD: "var(--u-unheld)",
    Use.UNKNOWN: "var(--u-unknown)",
    Use.FREE: "var(--u-free)",
}
"""Uses from the bottom of the stack to its top, and their colours."""
MOST_LETTERS = 48
"""Of a request's name where the pointer rests."""


def owner_words(use: Use, series: PoolSeries) -> str:
    """Whose pages of that use are; of a pool whose holders are not followed it is only known that they are out."""
    return "granted" if use is Use.GRANTED and not series.followed else WORDS[use]


def requests_figure(id: str, frame: pd.DataFrame) -> Figure:
    """Mean accept length of each request, with its lowest and highest."""
    names = [html.escape(printable(who)) for who in frame["request"]]
    bars = go.Bar(
        x=list(range(len(frame))),
        y=list(frame["mean"]),
        text=names,
        textposition="none",
        customdata=frame[["low", "high", "verifies"]].astype(int).values.tolist(),
        error_y={
            "type": "data",
            "symmetric": False,
            "array": list(frame["high"] - frame["mean"]),
            "arrayminus": list(frame["mean"] - frame["low"]),
            "color": "var(--muted)",
            "thickness": 1,
            "width": 2,
        },
        marker={"color": "var(--accent)"},
        hovertemplate="request %{text}: mean %{y:.2f}, from %{customdata[0]} to %{customdata[1]}, "
        "%{customdata[2]} verifies<extra></extra>",
    )
    figure = go.Figure([bars], layout("request, in the order of the run", "accepted rows a verify"))
    figure.update_layout(showlegend=False, bargap=0.25)
    if len(names) <= 12:
        short = [html.escape(_short(printable(who))) for who in frame["request"]]
        figure.update_xaxes(tickvals=list(range(len(names))), ticktext=short, automargin=True)
    else:
        figure.update_xaxes(showticklabels=False)
    return finished(id, figure, (), axis="", whole=("y",))


def _short(name: str, most: int = 10) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def owners_figure(id: str, series: PoolSeries, marks: Sequence[Mark]) -> Figure:
    """Pages of each use, stacked; what a span's fewest and most were stands beside each point."""
    traces, names = [], when(series.axis, series.x, series.span)
    for use, colour in OWNERS.items():
        if not series.high[use].any():
            continue
        traces.append(
            go.Scatter(
                x=series.x.tolist(),
                y=series.last[use].tolist(),
                customdata=np.stack([series.low[use], series.high[use]], axis=1).tolist(),
                mode="lines",
                line={"width": 0.6, "shape": "hv", "color": colour},
                stackgroup="pool",
                fillcolor=colour,
                name=owner_words(use, series),
                hovertext=names,
                hovertemplate="%{hovertext}, %{fullData.name}: %{y} pages"
                + (", from %{customdata[0]} to %{customdata[1]} in the span" if series.span > 1 else "")
                + "<extra></extra>",
            )
        )
    figure = go.Figure(traces, layout(AXIS_TITLES[series.axis], "pages"))
    figure.update_layout(hovermode="x", height=340, showlegend=False)
    figure.update_yaxes(range=[0, series.pages])
    return finished(id, figure, marks, axis=series.axis, span=series.span)


def heat_figure(id: str, series: PoolSeries, marks: Sequence[Mark]) -> Figure:
    """What each page, or block of pages, was used for where each span ends."""
    used = [use for use in OWNERS if (series.blocks == use).any()]
    place = np.zeros(len(Use), dtype=np.int64)
    place[used] = np.arange(len(used))
    first = series.first + np.arange(series.blocks.shape[1]) * series.block
    share = 1 / max(len(used), 1)
    scale = [[edge, OWNERS[use]] for at, use in enumerate(used) for edge in (at * share, (at + 1) * share)]
    later = f" and the {series.span - 1} behind it" if series.span > 1 else ""
    trace = go.Heatmap(
        x=series.x.tolist(),
        y=first.tolist(),
        z=place[series.blocks.T].tolist(),
        zmin=-0.5,
        zmax=len(used) - 0.5,
        colorscale=scale,
        customdata=series.holders.T.tolist(),
        meta={
            "names": [owner_words(use, series) for use in used],
            "holders": [html.escape(_short(printable(who), MOST_LETTERS)) for who in series.names],
            "block": series.block,
            "last": series.first + series.pages - 1,
            "unheld": used.index(Use.UNHELD) if Use.UNHELD in used else -1,
        },
        showscale=False,
        hovertemplate=f"%{{xaxis.title.text}} %{{x}}{later}, %{{text}}<extra></extra>",
    )
    figure = go.Figure([trace], layout(AXIS_TITLES[series.axis], "page"))
    figure.update_layout(height=360)
    return finished(id, figure, marks, axis=series.axis, span=series.span, whole=())


def moves_figure(id: str, over: Over, marks: Sequence[Mark]) -> Figure:
    """Pairs a step inside the band from fewest to most; the share whose source is their target on the right axis."""
    frame = over.frame
    share = [
        100 * same / pairs if pairs else None
        for same, pairs in zip(frame["same"], frame["pairs"], strict=True)
    ]
    x, names = list(frame["x"]), when(over.axis, frame["x"], over.span)
    band = {
        "mode": "lines",
        "line": {"width": 0, "shape": "hvh", "color": "var(--accent)"},
        "hoverinfo": "skip",
    }
    traces = [
        go.Scatter(x=x, y=list(frame["high"]), showlegend=False, **band),
        go.Scatter(
            x=x,
            y=list(frame["low"]),
            fill="tonexty",
            fillcolor="var(--reserve)",
            name="fewest to most",
            **band,
        ),
        go.Scatter(
            x=x,
            y=list(frame["mean"]),
            customdata=frame[["low", "high", "pairs"]].astype(int).values.tolist(),
            mode="lines+markers" if len(frame) <= 60 else "lines",
            line={"color": "var(--accent)", "width": 2},
            name="pairs a step",
            hovertext=names,
            hovertemplate="%{hovertext}: %{y:.4g} pairs a step, from %{customdata[0]} to %{customdata[1]}<extra></extra>",
        ),
        go.Scatter(
            x=x,
            y=share,
            yaxis="y2",
            mode="lines",
            line={"color": "var(--c2)", "width": 1.6, "dash": "dot"},
            name="already in place, %",
            hovertext=names,
            hovertemplate="%{hovertext}: %{y:.1f} % of the pairs are already in place<extra></extra>",
        ),
    ]
    figure = go.Figure(traces, layout(AXIS_TITLES[over.axis], "pairs a step"))
    side = {
        "overlaying": "y",
        "side": "right",
        "range": [0, 102],
        "title": {"text": "in place, %"},
        "showgrid": False,
        "tickvals": [0, 25, 50, 75, 100],
    }
    figure.update_layout(yaxis2=side, margin={"r": 52}, showlegend=False)
    figure.update_yaxes(rangemode="tozero", selector={"overlaying": None})
    return finished(id, figure, marks, axis=over.axis, span=over.span)


def counts_figure(id: str, over: Over, y: str, marks: Sequence[Mark], noun: str) -> Figure:
    """Stacked bars, one colour a name."""
    traces: list[Any] = []
    for number, (name, frame) in enumerate(over.frame.groupby("name", sort=True)):
        traces.append(
            go.Bar(
                x=list(frame["x"]),
                y=list(frame["count"]),
                name=html.escape(printable(str(name))),
                width=over.span,
                offset=0,
                marker={"color": f"var(--c{number % COLOURS + 1})", "line": {"width": 0}},
                hovertext=when(over.axis, frame["x"], over.span),
                hovertemplate=f"%{{hovertext}}: %{{y}} {noun}, %{{fullData.name}}<extra></extra>",
            )
        )
    figure = go.Figure(traces, layout(AXIS_TITLES[over.axis], y))
    figure.update_layout(barmode="stack", bargap=0, showlegend=False)
    return finished(id, figure, marks, axis=over.axis, span=over.span)
