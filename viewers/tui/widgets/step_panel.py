"""A part of the drawing of one verify."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from speckv_debug.model.verify import VerifyStep


class StepPanel(Static):
    """Draws `step` as lines, anew when its width changes; subclasses say how."""

    TITLE: ClassVar[str] = ""

    step: reactive[VerifyStep | None] = reactive(None)

    def on_mount(self) -> None:
        self.border_title = self.TITLE

    def lines(self, step: VerifyStep, width: int) -> Iterable[Content]:
        """The drawing, for a panel of `width` cells."""
        raise NotImplementedError

    def watch_step(self) -> None:
        self.redraw()

    def on_resize(self) -> None:
        self.redraw()

    def redraw(self) -> None:
        """Draw what is known now."""
        lines = [] if self.step is None else self.lines(self.step, self.content_region.width)
        self.update(Content("\n").join(lines))


def token_name(row_letter: str, token: int | None) -> str:
    """`A 21`, or `A ?` where the token was not recorded."""
    return f"{row_letter} {'?' if token is None else token}"
