"""The plotly figures of a pool over time: who owns its pages, as stacked areas and page by page."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from speckv_debug.model.text import printable
from speckv_debug.replay.pool_series import PoolSeries
from speckv_debug.replay.pool_state import Use
from speckv_debug.viewers.html.figures import AXIS_TITLES, Figure, Mark, finished, layout, short, when
from speckv_debug.viewers.html.pages import WORDS

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


def owners_figure(id: str, series: PoolSeries, marks: Sequence[Mark]) -> Figure:
    """Pages of each use, stacked; what a span's fewest and most were stands beside each point."""
    names = when(series.axis, series.x, series.span)
    traces = [_area(use, series, names) for use in OWNERS if series.high[use].any()]
    figure = go.Figure(traces, layout(AXIS_TITLES[series.axis], "pages"))
    figure.update_layout(hovermode="x", height=340, showlegend=False)
    figure.update_yaxes(range=[0, series.pages])
    return finished(id, figure, marks, axis=series.axis, span=series.span)


def _area(use: Use, series: PoolSeries, names: list[str]) -> go.Scatter:
    """One use; the fewest and most of a span are told where it is longer than a step."""
    extremes = ", from %{customdata[0]} to %{customdata[1]} in the span" if series.span > 1 else ""
    return go.Scatter(
        x=series.x.tolist(),
        y=series.last[use].tolist(),
        customdata=np.stack([series.low[use], series.high[use]], axis=1).tolist(),
        mode="lines",
        line={"width": 0.6, "shape": "hv", "color": OWNERS[use]},
        stackgroup="pool",
        fillcolor=OWNERS[use],
        name=owner_words(use, series),
        hovertext=names,
        hovertemplate=f"%{{hovertext}}, %{{fullData.name}}: %{{y}} pages{extremes}<extra></extra>",
    )


def heat_figure(id: str, series: PoolSeries, marks: Sequence[Mark]) -> Figure:
    """What each page, or block of pages, was used for where each span ends."""
    used = [use for use in OWNERS if (series.blocks == use).any()]
    later = f" and the {series.span - 1} behind it" if series.span > 1 else ""
    trace = go.Heatmap(
        x=series.x.tolist(),
        y=(series.first + np.arange(series.blocks.shape[1]) * series.block).tolist(),
        **_uses(used, series),
        customdata=series.holders.T.tolist(),
        meta=_meanings(used, series),
        showscale=False,
        hovertemplate=f"%{{xaxis.title.text}} %{{x}}{later}, %{{text}}<extra></extra>",
    )
    figure = go.Figure([trace], layout(AXIS_TITLES[series.axis], "page"))
    figure.update_layout(height=360)
    return finished(id, figure, marks, axis=series.axis, span=series.span, whole=())


def _uses(used: Sequence[Use], series: PoolSeries) -> dict[str, Any]:
    """The number of each use at its place, and a colour a number."""
    place = np.zeros(len(Use), dtype=np.int64)
    place[used] = np.arange(len(used))
    share = 1 / max(len(used), 1)
    scale = [[edge, OWNERS[use]] for at, use in enumerate(used) for edge in (at * share, (at + 1) * share)]
    numbers = place[series.blocks.T].tolist()
    return {"z": numbers, "zmin": -0.5, "zmax": len(used) - 0.5, "colorscale": scale}


def _meanings(used: Sequence[Use], series: PoolSeries) -> dict[str, Any]:
    """What the page's script needs to say in words what the numbers mean."""
    return {
        "names": [owner_words(use, series) for use in used],
        "holders": [html.escape(short(printable(who), MOST_LETTERS), quote=False) for who in series.names],
        "block": series.block,
        "last": series.first + series.pages - 1,
        "unheld": used.index(Use.UNHELD) if Use.UNHELD in used else -1,
    }
