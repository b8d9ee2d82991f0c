"""One line about a verify: algorithm, sampling, tree, lengths, where it stands in the recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.content import Content

from speckv_debug.model.text import printable
from speckv_debug.model.verify import VerifyStep
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.widgets.step_panel import StepPanel


class VerifyFacts(StepPanel):
    """What does not show in the drawings; the important things first, the end is cut if need be."""

    def step_lines(self, step: VerifyStep, width: int) -> Iterable[Content]:
        facts = Content.styled(" · ", ink.FAINT).join(_facts(step))
        yield facts.truncate(width, ellipsis=True)


def _facts(step: VerifyStep) -> Iterator[str]:
    rows = len(step.tree.tokens)
    accepted = "?" if step.accept_len is None else step.accept_len
    yield f"accepted {accepted} of {rows} rows"
    if step.seq_len is not None:
        yield f"seq_len {step.seq_len} → {'?' if step.new_seq_len is None else step.new_seq_len}"
    if step.tree.parents:
        yield "chain" if step.tree.is_chain else "tree"
    yield from (printable(word) for word in (step.algorithm, step.sampling) if word)
    if step.simulated and step.sampling is None:
        yield "simulated by setting"
    if step.row is not None:
        yield f"request row {step.row}" + ("" if step.epoch is None else f", epoch {step.epoch}")
    yield f"event {step.seq}"
