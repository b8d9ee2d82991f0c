"""Evidence tables as aligned text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from textual.content import Content

from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import printable
from speckv_debug.viewers.tui import ink


def evidence_lines(evidence: Evidence) -> Iterator[Content]:
    """The title, the column names, one line a row; rows that break the law carry ✗."""
    table = [[printable(name) for name in evidence.columns]]
    table += [[_text(cell) for cell in row] for row in evidence.rows]
    widths = [max(cell_len(row[c]) for row in table if c < len(row)) for c in range(max(map(len, table)))]
    numeric = [
        all(isinstance(row[c], int | None) for row in evidence.rows if c < len(row))
        for c in range(len(widths))
    ]
    yield Content.styled(printable(evidence.title), ink.STRONG)
    for number, row in enumerate(table):
        cells = [
            " " * (w - cell_len(cell)) + cell if right else cell + " " * (w - cell_len(cell))
            for cell, w, right in zip(row, widths, numeric, strict=False)
        ]
        bad = number - 1 in evidence.marked
        style = ink.FAINT if number == 0 else ink.BAD if bad else ""
        yield Content.styled(("✗ " if bad else "  ") + "  ".join(cells).rstrip(), style)


def _text(cell: Cell) -> str:
    return "-" if cell is None else printable(str(cell))
