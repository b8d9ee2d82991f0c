"""What KV commits above what the output gains: the same length, one token apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.content import Content

from speckv_debug.model.lettering import BONUS, letter
from speckv_debug.model.verify import VerifyStep
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.widgets.step_panel import StepPanel, token_name

LABEL = 14
Cell = tuple[str, str]


class TokenStrips(StepPanel):
    """Two strips aligned by token, so that the shift by one is seen."""

    TITLE = "Same length, one token apart"

    def step_lines(self, step: VerifyStep, width: int) -> Iterable[Content]:
        if not step.kv_tokens:
            yield Content.styled("no accepted row was recorded", ink.FAINT)
            return
        kv, output = _kv(step), _output(step)
        positions = _positions(step)
        cell = max(len(text) for text, _ in (*kv, *output, *positions))
        fit = max(2, (width - LABEL) // (cell + 3))
        for start in range(0, len(kv), fit):
            part = slice(start, start + fit)
            yield _strip("KV commits", kv[part], cell)
            yield _strip("output gains", output[part], cell)
            yield _strip("position", positions[part], cell, bar="   ")


def _kv(step: VerifyStep) -> list[Cell]:
    names = [
        token_name(letter(row), token) for row, token in zip(step.accepted, step.kv_tokens, strict=False)
    ]
    return [*((name, ink.GOOD) for name in names), ("no KV yet", ink.FAINT)]


def _output(step: VerifyStep) -> list[Cell]:
    """Column j holds output token j - 1; it is the KV token of its column, or differs, or is the bonus."""
    cells: list[Cell] = [("", "")]
    for k, token in enumerate(step.output_tokens):
        if k + 1 == len(step.output_tokens):
            cells.append((f"{token_name(BONUS, token)} bonus", ink.PLACE))
        elif token == step.kv_tokens[k + 1]:
            cells.append((token_name(letter(step.accepted[k + 1]), token), ink.GOOD))
        else:
            cells.append((f"≠ {'?' if token is None else token}", ink.DOUBT))
    return cells


def _positions(step: VerifyStep) -> list[Cell]:
    start = step.seq_len
    return [("?" if start is None else str(start + k), ink.FAINT) for k in range(len(step.kv_tokens) + 1)]


def _strip(label: str, cells: list[Cell], width: int, bar: str = " │ ") -> Content:
    return Content.assemble((f"{label:<{LABEL}}", ink.FAINT), *_joined(cells, width, bar))


def _joined(cells: list[Cell], width: int, bar: str) -> Iterator[Cell]:
    for number, (text, style) in enumerate(cells):
        if number:
            yield bar if text else "   ", ink.FAINT
        yield f"{text:<{width}}", style
