"""From a line of content to the strip that the terminal gets.

Textual's own way marks every segment with its place, for selecting text with the mouse. Our lists and panels are not selected
from; without the marks segments of one look share one style, and all that is cached by style stays cached.
"""

from __future__ import annotations

from rich.segment import Segment
from textual.content import Content
from textual.geometry import Size
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget


def room_of(widget: Widget) -> Size:
    """Cells for the content of a widget, by the last layout.

    `Widget.size` asks the screen where the widget is, which lays all widgets out once more when one of them has changed or is not shown.
    """
    gutter = widget.gutter
    width, height = widget.outer_size
    return Size(max(0, width - gutter.width), max(0, height - gutter.height))


def strip_of(line: Content, width: int, style: Style) -> Strip:
    """`line` on the ground of `style`, cut with an ellipsis or filled to `width` cells; an app is running."""
    line = line.truncate(width, ellipsis=True)
    looks = line.render(style, end="", parse_style=_look)
    segments = [Segment(text, (style + look).rich_style) for text, look in looks]
    return Strip(segments, line.cell_length).extend_cell_length(width, style.rich_style)


def strip_of_runs(runs: list[tuple[str, str]], width: int, style: Style) -> Strip:
    """Runs of text with their looks, each sign one cell wide, on the ground of `style`; an app is running."""
    looks = {look: (style + Style.parse(look)).rich_style for look in {look for _, look in runs}}
    strip = Strip([Segment(text, looks[look]) for text, look in runs], sum(len(text) for text, _ in runs))
    return strip.adjust_cell_length(width, style.rich_style)


def merged(runs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The same text with one run where neighbours look alike."""
    found: list[tuple[str, str]] = []
    for text, look in runs:
        if found and found[-1][1] == look:
            found[-1] = (found[-1][0] + text, look)
        else:
            found.append((text, look))
    return found


def _look(style: str | Style) -> Style:
    return style if isinstance(style, Style) else Style.parse(style)


def same(one: Content, other: Content) -> bool:
    """Whether both look alike; `==` of contents compares the words alone."""
    return one.plain == other.plain and list(one.spans) == list(other.spans)


def hanging(label: Content, text: Content, width: int) -> list[Content]:
    """`text` beside `label`, its further lines below its first one."""
    first, *rest = text.wrap(max(16, width - label.cell_length)) or [Content("")]
    return [label.append(first), *(Content(" " * label.cell_length).append(line) for line in rest)]
