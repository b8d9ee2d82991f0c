"""The pages of a pool over time: one line a kind of use, as high as its share of the pool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from textual.content import Content

from speckv_debug.model.text import printable
from speckv_debug.replay.pool_series import PoolSeries
from speckv_debug.replay.pool_state import Use
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.lookup import Ints
from speckv_debug.viewers.tui.widgets.panel import Panel
from speckv_debug.viewers.tui.widgets.run_chart import COLUMNS

ROWS: tuple[tuple[str, str, tuple[Use, ...]], ...] = (
    ("requests", ink.PLACE, (Use.COMMITTED, Use.RESERVE, Use.GRANTED)),
    ("tree", ink.GOOD, (Use.LOCKED, Use.EVICTABLE, Use.TREE)),
    ("sessions", ink.GOOD, (Use.SESSION,)),
    ("transfer", ink.DOUBT, (Use.TRANSFER,)),
    ("waiting", ink.FAINT, (Use.WAITING,)),
    ("free", ink.FAINT, (Use.FREE,)),
    ("unknown", ink.DOUBT, (Use.UNKNOWN,)),
    ("nobody's", ink.DOUBT, (Use.UNHELD,)),
    ("conflict", ink.BAD, (Use.CONFLICT,)),
)
"""Word, style, the uses that are counted together."""
NO_POOLS = "the pools are unknown: process.json is missing, or names none whose pages can be followed"
FIRST = ("conflict", "nobody's", "unknown", "requests", "in use", "tree", "free")
"""Those that stay where there is no room for all; the others give way before them."""


class PoolChart(Panel):
    """Most pages of each kind in each stretch of the run; kinds that never occur are left out."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("Pages over time", id=id)
        self._series: PoolSeries | None = None
        self._why = "the pools are being replayed"

    def show(self, series: PoolSeries | None, why: str = "no event moves a page") -> None:
        """Draw a pool; without one say why."""
        self._series, self._why = series, why
        if series is not None:
            self.retitle(Content(f"Pages of pool {printable(series.pool)} over time, of {series.pages:,}"))
        self.redraw()

    def lines(self, width: int, height: int) -> Iterable[Content]:
        series = self._series
        if series is None:
            return [Content.styled(self._why, ink.FAINT)]
        named = {} if series.followed else {"requests": "in use"}
        shown = [(named.get(word, word), style, _summed(series, uses)) for word, style, uses in ROWS]
        shown = [row for row in shown if row[2][1].any()]
        gone = without_room([word for word, _, _ in shown], max(1, height - 1))
        shown = [row for row in shown if row[0] not in gone]
        digits = len(f"{series.pages:,}")
        cells = max(8, width - 10 - 2 * digits - 5)
        each = max(1, min(3, (height - 1 - bool(gone)) // max(1, len(shown))))
        found = [line for row in shown for line in _row(*row, series.pages, cells, each, digits)]
        rest = [Content.styled(f"no room for {', '.join(gone)}", ink.DOUBT)] if gone else []
        return [*found[: height - 1], *rest, _axis(series, cells)]


def without_room(words: Sequence[str], room: int) -> list[str]:
    """The kinds that are not drawn in so many lines, of which one names them."""
    if len(words) <= room:
        return []
    by_weight = sorted(words, key=lambda word: FIRST.index(word) if word in FIRST else len(FIRST))
    kept = by_weight[: max(0, room - 1)]
    return [word for word in words if word not in kept]


def _summed(series: PoolSeries, uses: Sequence[Use]) -> tuple[Ints, Ints]:
    """Fewest and most pages of these uses together; exact where spans are single looks, else bounds."""
    at = list(uses)
    return series.low[at].sum(axis=0), series.high[at].sum(axis=0)


def _row(
    word: str, style: str, bounds: tuple[Ints, Ints], pages: int, cells: int, height: int, digits: int
) -> Iterable[Content]:
    low, high = bounds
    level = _levels(np.minimum(high, pages), pages, cells, height)
    for line in range(height):
        eighths = np.clip(level - 8 * (height - 1 - line), 0, 8)
        last = line == height - 1
        yield Content.assemble(
            f"{word if last else '':<9} ",
            ("".join(COLUMNS[e] for e in eighths.tolist()), style),
            (f" {low.min():>{digits},}..{min(high.max(), pages):<{digits},}" if last else "", ink.FAINT),
        )


def _levels(values: Ints, top: int, cells: int, height: int) -> Ints:
    """Eighths of a line for each of `cells` columns; a column shows the most of what it stands for."""
    at = np.arange(cells) * len(values) // cells
    most = np.maximum.reduceat(values, at) if len(values) >= cells else values[at]
    return np.ceil(most * 8 * height / max(1, top)).astype(np.int64)


def _axis(series: PoolSeries, cells: int) -> Content:
    first, last = f"{series.axis} {int(series.x[0]):,}", f"{int(series.x[-1] + series.span - 1):,}"
    return Content.styled(f"{'':10}{first}{last:>{max(1, cells - len(first))}}", ink.FAINT)
