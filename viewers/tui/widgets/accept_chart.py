"""How many rows verifies accepted: one bar a length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from textual.content import Content

from speckv_debug.model.text import amount
from speckv_debug.replay.ragged import Mask
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.lookup import Ints
from speckv_debug.viewers.tui.widgets.panel import Panel

EIGHTHS = " ▏▎▍▌▋▊▉█"


class AcceptChart(Panel):
    """Counts of accept lengths; where there are more lengths than lines, neighbours share one."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("Accepted rows a verify", id=id)
        self._lengths: Ints | None = None
        self._width, self._simulated = -1, 0
        self._why_none = ""

    def show(self, accept_len: Ints, width: Ints, simulated: Mask, why_none: str = "") -> None:
        """Draw these accept lengths of verifies with so many rows, negative ones are not known; or say why there are none.

        Those of verifies with simulated acceptance are not counted.
        """
        self._why_none = why_none
        self._lengths, self._width = accept_len[~simulated], int(width.max(initial=-1))
        self._simulated = int(simulated.sum())
        self.redraw()

    def lines(self, width: int, height: int) -> Iterable[Content]:
        if self._lengths is None:
            return [Content.styled("the verifies are being read", ink.FAINT)]
        known = self._lengths[self._lengths >= 0]
        if not len(known):
            why = self._why_none or "no accept length was recorded"
            look = ink.DOUBT if self._why_none else ink.FAINT
            return [*Content.styled(why, look).wrap(max(1, width)), *self._set()]
        of = f" of {self._width}" if self._width >= 0 else ""
        unknown = len(self._lengths) - len(known)
        said = f"mean {known.mean():.2f}{of} · {amount(len(known), 'verify', 'verifies')}"
        said += f" · {unknown:,} unknown" if unknown else ""
        below = [Content.styled(said, ink.FAINT), *self._set()]
        return [*_bars(np.bincount(known), width, height - len(below)), *below]

    def _set(self) -> Iterator[Content]:
        """Lengths that a setting chose say nothing about acceptance."""
        if self._simulated:
            yield Content.styled(f"{self._simulated:,} simulated, not counted", ink.FAINT)


def _bars(counts: Ints, width: int, height: int) -> Iterator[Content]:
    least = int(np.flatnonzero(counts)[0])
    per = max(1, -(-(len(counts) - least) // max(1, height)))
    starts = np.arange(least, len(counts), per)
    sums = np.add.reduceat(counts, starts)
    names = [f"{start}" if per == 1 else f"{start}-{start + per - 1}" for start in starts.tolist()]
    name_width, total = max(map(len, names)), max(1, int(counts.sum()))
    number_width = len(f"{int(sums.max()):,}")
    room = max(4, width - name_width - number_width - 9)
    for name, count in zip(names, sums.tolist(), strict=True):
        yield Content.assemble(
            f"{name:>{name_width}} ",
            (bar(count / int(sums.max()), room), ink.GOOD),
            (f" {count:>{number_width},} {count / total:>5.0%}", ink.FAINT),
        )


def bar(share: float, cells: int) -> str:
    """A bar of `cells` cells, filled from the left to an eighth of a cell; any share above 0 is seen."""
    eighths = max(1, round(share * cells * 8)) if share > 0 else 0
    full, rest = divmod(min(eighths, cells * 8), 8)
    return ("█" * full + (EIGHTHS[rest] if rest else "")).ljust(cells)
