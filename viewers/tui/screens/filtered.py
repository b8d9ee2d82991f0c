"""A screen with a list that a typed text narrows; escape gives the text up again."""

from __future__ import annotations

from speckv_debug.viewers.tui.screens.inspector import InspectorScreen
from speckv_debug.viewers.tui.widgets.prompt import Prompt


class FilteredScreen(InspectorScreen):
    """Subclasses say what the text is looked for in, and list what has it."""

    finds = ""
    """What `/` does, in words."""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""

    def _list(self) -> None:
        """Show what has the text."""
        raise NotImplementedError

    def action_find(self) -> None:
        self.query_one(Prompt).ask("find", self.finds, self._text)

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        if event.purpose == "find":
            self._text = event.text.strip()
            self._list()

    def on_prompt_given_up(self) -> None:
        self.leave()

    def leave(self) -> bool:
        """Give up the text; False if there was none."""
        had, self._text = self._text, ""
        if had:
            self._list()
        return bool(had)
