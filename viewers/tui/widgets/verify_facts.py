"""One line about a verify: algorithm, sampling, tree, lengths, where it stands in the recording."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from speckv_debug.model.verify import VerifyStep
from speckv_debug.model.verify_words import verify_facts
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.widgets.step_panel import StepPanel


class VerifyFacts(StepPanel):
    """What does not show in the drawings; the important things first, the end is cut if need be."""

    def step_lines(self, step: VerifyStep, width: int) -> Iterable[Content]:
        facts = Content.styled(" · ", ink.FAINT).join(verify_facts(step))
        yield facts.truncate(width, ellipsis=True)
