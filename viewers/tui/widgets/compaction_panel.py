"""Predictions and hidden rows before and after they are compacted: accepted rows come to the front of their block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.content import Content

from speckv_debug.model.lettering import letter
from speckv_debug.model.text import printable
from speckv_debug.model.verify import VerifyStep
from speckv_debug.model.verify_words import moved_value
from speckv_debug.replay.verify_details import CompactedTensor
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.widgets.step_panel import StepPanel

LABEL = 14


class CompactionPanel(StepPanel):
    """One strip a side and tensor, a cell an accepted row."""

    TITLE = "Compaction: accepted rows to the front"

    tensors: tuple[CompactedTensor, ...] = ()

    def step_lines(self, step: VerifyStep, width: int) -> Iterable[Content]:
        if not self.tensors:
            yield Content.styled("no compaction of this step was recorded", ink.FAINT)
        for tensor in self.tensors:
            yield from _tensor(tensor)


def _tensor(tensor: CompactedTensor) -> Iterator[Content]:
    before = [
        f"{letter(row)} {moved_value(value)}" for row, value in zip(tensor.rows, tensor.before, strict=True)
    ]
    after = [f"{k} {moved_value(value)}" for k, value in enumerate(tensor.after)]
    cell = max(map(len, (*before, *after)), default=1)
    name = printable(tensor.tensor)
    right = tensor.moved_right
    word, style = (
        {True: ("✓ in place", ink.GOOD), False: ("✗ not what stood there", ink.BAD)}.get(
            right is True, ("", "")
        )
        if right is not None
        else ("? not all of it was recorded", ink.DOUBT)
    )
    yield Content.assemble((f"{name:<{LABEL}}", ink.STRONG), (word, style))
    yield Content.assemble(
        (f"{'  before, row':<{LABEL}}", ink.FAINT), " │ ".join(f"{each:<{cell}}" for each in before)
    )
    parts: list[tuple[str, str]] = []
    for at, each in enumerate(after):
        wrong = None not in (tensor.before[at], tensor.after[at]) and tensor.before[at] != tensor.after[at]
        parts.append((" │ " if at else "", ink.FAINT))
        parts.append((f"{'✗ ' if wrong else ''}{each:<{cell}}", ink.BAD if wrong else ""))
    yield Content.assemble((f"{'  after, k':<{LABEL}}", ink.FAINT), *parts)
