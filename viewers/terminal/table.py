"""A small table of evidence as aligned lines."""

from __future__ import annotations

from collections.abc import Iterator

from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import printable

SHOWN_ROWS = 24
WIDEST = 48


def table_lines(evidence: Evidence, shown: int | None = SHOWN_ROWS) -> Iterator[str]:
    """Heading and rows, `shown` of them or all; numbers right-aligned, broken rows marked with ✗, the rest counted."""
    rows = evidence.rows[:shown]
    heading = [printable(name) for name in evidence.columns]
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(line[c]) for line in (heading, *cells)) for c in range(len(heading))]
    numeric = [all(isinstance(row[c], int | None) for row in rows) for c in range(len(heading))]
    yield _line(heading, widths, numeric)
    for index, line in enumerate(cells):
        broken = index in evidence.marked and not any("✗" in cell for cell in line)
        yield _line(line, widths, numeric) + ("  ✗" if broken else "")
    if (more := len(evidence.rows) - len(rows)) > 0:
        yield f"… {more} more"


def _line(cells: list[str], widths: list[int], numeric: list[bool]) -> str:
    placed = (f"{c:>{w}}" if n else f"{c:<{w}}" for c, w, n in zip(cells, widths, numeric, strict=True))
    return "  ".join(placed).rstrip()


def _cell(value: Cell) -> str:
    text = "" if value is None else printable(str(value))
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"
