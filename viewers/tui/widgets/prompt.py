"""One line at the bottom to type into: what to find, where to go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Input


class Prompt(Input):
    """Hidden until opened for a purpose; answers while typing, on enter, and when given up."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Cancel", tooltip="Close without going anywhere", id="prompt.cancel")
    ]

    @dataclass
    class Typed(Message):
        """The text became another one; not yet entered."""

        purpose: str
        text: str

    @dataclass
    class Entered(Message):
        """The text was entered."""

        purpose: str
        text: str

    @dataclass
    class GivenUp(Message):
        """The prompt was closed without an answer."""

        purpose: str

    def __init__(self) -> None:
        super().__init__(compact=True, select_on_focus=False)
        self._purpose = ""
        self.cursor_blink = False
        self.display = False

    def ask(self, purpose: str, label: str, text: str = "") -> None:
        """Open for `purpose`, with `label` as the border's title and `text` to start from."""
        self._purpose = purpose
        self.border_title = Content(label)
        with self.prevent(Input.Changed):
            self.value = text
        self.display = True
        self.screen.set_focus(self)  # at once: keys that were typed ahead belong here

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Typed(self._purpose, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._close()
        self.post_message(self.Entered(self._purpose, event.value))

    def action_give_up(self) -> None:
        self._close()
        self.post_message(self.GivenUp(self._purpose))

    def _close(self) -> None:
        self.display = False
