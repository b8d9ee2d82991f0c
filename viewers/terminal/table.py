"""A small table of evidence as aligned lines."""

from __future__ import annotations

from collections.abc import Iterator

from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import printable

SHOWN_ROWS = 24
WIDEST = 48


def table_lines(evidence: Evidence, shown: int | None = SHOWN_ROWS) -> Iterator[str]:
    """Heading and rows, numbers right-aligned, broken ones marked with ✗; all, or the first `shown` and as many broken ones.

    `…` stands where rows are left out before a broken one, the last line counts them all.
    """
    kept = _kept(evidence, shown)
    rows = [evidence.rows[index] for index in kept]
    heading = [printable(name) for name in evidence.columns]
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(line[c]) for line in (heading, *cells)) for c in range(len(heading))]
    numeric = [all(isinstance(row[c], int | None) for row in rows) for c in range(len(heading))]
    yield _line(heading, widths, numeric)
    for before, index, line in zip((-1, *kept), kept, cells, strict=False):
        if index > before + 1:
            yield "…"
        broken = index in evidence.marked and not any("✗" in cell for cell in line)
        yield _line(line, widths, numeric) + ("  ✗" if broken else "")
    if (more := len(evidence.rows) - len(rows)) > 0:
        yield f"… {more} more"


def _kept(evidence: Evidence, shown: int | None) -> list[int]:
    if shown is None:
        return list(range(len(evidence.rows)))
    broken = [index for index in sorted(evidence.marked) if shown <= index < len(evidence.rows)]
    return [*range(min(shown, len(evidence.rows))), *broken[:shown]]


def _line(cells: list[str], widths: list[int], numeric: list[bool]) -> str:
    placed = (f"{c:>{w}}" if n else f"{c:<{w}}" for c, w, n in zip(cells, widths, numeric, strict=True))
    return "  ".join(placed).rstrip()


def _cell(value: Cell) -> str:
    text = "" if value is None else printable(str(value))
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"
