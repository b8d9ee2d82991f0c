"""A titled part of a screen that draws lines for the room it has."""

from __future__ import annotations

from speckv_debug.viewers.tui.widgets.lines import Lines


class Panel(Lines):
    """Its border is drawn by the style sheet for all panels; of lines that do not fit the first ones are seen."""
