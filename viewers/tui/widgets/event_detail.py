"""The event under the cursor with all that was recorded of it."""

from __future__ import annotations

from collections.abc import Iterator

from textual.containers import VerticalScroll

from speckv_debug.model.events import Event
from speckv_debug.viewers.tui.widgets.event_list import whole
from speckv_debug.viewers.tui.widgets.lines import Said


class EventDetail(VerticalScroll):
    """Scrolls where there is no room for all."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._event: Event | None = None

    def compose(self) -> Iterator[Said]:
        yield Said()

    def show(self, event: Event) -> None:
        """Draw `event`."""
        self._event = event
        self.on_resize()
        self.scroll_home(animate=False)

    def on_resize(self) -> None:
        if self._event is not None:
            self.query_one(Said).say(whole(self._event, self.scrollable_content_region.width))
