"""A part of the drawing of one verify."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.content import Content
from textual.reactive import reactive

from speckv_debug.model.verify import VerifyStep
from speckv_debug.viewers.tui.widgets.lines import Lines


class StepPanel(Lines):
    """Draws `step` as lines, anew when its width changes; subclasses say how."""

    WRAPS = True
    TITLE: ClassVar[str] = ""

    step: reactive[VerifyStep | None] = reactive(None, repaint=False)

    def __init__(self) -> None:
        super().__init__(self.TITLE)

    def step_lines(self, step: VerifyStep, width: int) -> Iterable[Content]:
        """The drawing, for a panel of `width` cells."""
        raise NotImplementedError

    def lines(self, width: int, height: int) -> Iterable[Content]:
        return () if self.step is None else self.step_lines(self.step, width)

    def watch_step(self) -> None:
        self.redraw()


def token_name(row_letter: str, token: int | None) -> str:
    """`A 21`, or `A ?` where the token was not recorded."""
    return f"{row_letter} {'?' if token is None else token}"
