"""From accept_index to the slot: one line an accepted row, source and target, moved or not."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from speckv_debug.model.lettering import letter
from speckv_debug.model.verify import SlotMove, VerifyStep
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.widgets.step_panel import StepPanel, token_name

Row = tuple[str, ...]


class MoveTable(StepPanel):
    """What is due for each accepted row, and what the engine did."""

    TITLE = "From accept_index to the slot"

    moves_recorded = True

    def step_lines(self, step: VerifyStep, width: int) -> Iterable[Content]:
        if not step.moves:
            yield Content.styled("no accepted row was recorded", ink.FAINT)
            return
        heading: Row = ("k", "token", "row", "source → target", "position", "page")
        table: list[Row] = [_cells(move, step.page_size) for move in step.moves]
        if step.page_size in (None, 1):
            heading, table = heading[:-1], [row[:-1] for row in table]
        gap = "  " if width < 100 else "   "
        widths = [max(map(len, column)) for column in zip(heading, *table, strict=True)]
        yield Content.styled(_row(heading, widths, gap) + gap + "moved?", ink.FAINT)
        for move, row in zip(step.moves, table, strict=True):
            word, style = moved(move, self.moves_recorded)
            yield Content.assemble(_row(row, widths, gap), gap, (word, style))


def moved(move: SlotMove, moves_recorded: bool = True) -> tuple[str, str]:
    """What became of one accepted row, as a word with its mark, and the word's style."""
    if move.source is None or move.target is None:
        return "? slot not recorded", ink.DOUBT
    did = (move.engine_source, move.engine_target)
    if did == (None, None):
        if move.in_place:
            return "same slot", ink.FAINT
        return ("! no move seen" if moves_recorded else "? moves not recorded"), ink.DOUBT
    if did == (move.source, move.target):
        return ("same slot", ink.FAINT) if move.in_place else ("✓ moved", ink.GOOD)
    return f"✗ ran {_slot(did[1])} ← {_slot(did[0])}", ink.BAD


def _cells(move: SlotMove, page_size: int | None) -> Row:
    sign = "=" if move.in_place else "→"
    return (
        str(move.k),
        token_name(letter(move.verify_row), move.token),
        str(move.verify_row),
        f"{_slot(move.source)} {sign} {_slot(move.target)}",
        str(move.position),
        _pages(move, page_size or 1),
    )


def _pages(move: SlotMove, page_size: int) -> str:
    if move.target is None:
        return "?"
    target = move.target // page_size
    source = target if move.source is None else move.source // page_size
    return str(target) if source == target else f"{source} → {target}"


def _row(cells: Row, widths: list[int], gap: str) -> str:
    """Token and source → target start at the left, numbers end at the right."""
    left = (1, 3)
    return gap.join(
        f"{cell:<{width}}" if column in left else f"{cell:>{width}}"
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )


def _slot(slot: int | None) -> str:
    return "?" if slot is None else str(slot)
