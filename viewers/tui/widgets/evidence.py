"""Evidence tables as aligned text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from rich.cells import cell_len
from textual.content import Content

from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import printable
from speckv_debug.viewers.tui import ink

NARROWEST = 6
"""Cells to which a column of texts may be narrowed."""
WIDE = 1 << 20


def evidence_lines(evidence: Evidence, width: int = WIDE) -> Iterator[Content]:
    """The title, the column names, each row; rows that break the law carry ✗.

    Where a table is wider than `width` the widest columns are narrowed, and their texts go on in the next line.
    """
    table = [[printable(name) for name in evidence.columns]]
    table += [[_text(cell) for cell in row] for row in evidence.rows]
    columns = range(max(map(len, table)))
    widths = _fitted([max(cell_len(row[c]) for row in table if c < len(row)) for c in columns], width)
    numeric = [all(isinstance(row[c], int | None) for row in evidence.rows if c < len(row)) for c in columns]
    yield Content.styled(printable(evidence.title), ink.STRONG)
    for number, row in enumerate(table):
        bad = number - 1 in evidence.marked
        style = ink.FAINT if number == 0 else ink.BAD if bad else ""
        for part, cells in enumerate(_parts(row, widths)):
            mark = "✗ " if bad and not part else "  "
            yield Content.styled((mark + _line(cells, widths, numeric)).rstrip(), style)


def _fitted(widths: list[int], room: int) -> list[int]:
    """The widths of the columns, of which the widest give way until all fit."""
    fitted = list(widths)
    while fitted and sum(fitted) + 2 * len(fitted) > room and max(fitted) > NARROWEST:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def _parts(row: list[str], widths: list[int]) -> Iterator[tuple[str, ...]]:
    """The lines of a row, each with what stands there of every cell."""
    wrapped = [
        [line.plain for line in Content(cell).wrap(width)] if cell_len(cell) > width else [cell]
        for cell, width in zip(row, widths, strict=False)
    ]
    return zip_longest(*wrapped, fillvalue="")


def _line(cells: tuple[str, ...], widths: list[int], numeric: list[bool]) -> str:
    padded = [" " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=False)]
    return "  ".join(
        pad + cell if right else cell + pad for cell, pad, right in zip(cells, padded, numeric, strict=False)
    )


def _text(cell: Cell) -> str:
    return "-" if cell is None else printable(str(cell))
