"""What the keys do here and what the marks mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.content import Content

from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.drawing import hanging
from speckv_debug.viewers.tui.keys import Deed, by_area

MARKS = (
    ("✗ E", ink.BAD, "an error: a law is broken"),
    ("! W", ink.DOUBT, "a warning: a law is broken, or something could not be taken for sure"),
    ("· N", ink.FAINT, "a note: it never changes the verdict"),
    ("? ", ink.DOUBT, "unknown: what it needs was not recorded"),
    ("› ·", ink.STRONG, "the cursor of the part that has the keys, and that of another part: tab goes there"),
    ("⋯", ink.FAINT, "behind the count: something of this place is still being worked out"),
    ("↻", ink.FAINT, "the recording is followed while it grows"),
    ("●", ink.GOOD, "an accepted verify row"),
    ("○", ink.FAINT, "a rejected verify row"),
    ("=", "", "source and target are the same slot, nothing has to move"),
    ("→", "", "KV[target] <- KV[source] is due"),
    ("R A B", "", "verify rows 0, 1, 2 of this request; X is the bonus token"),
)


def help_lines(listed: Iterable[Deed], width: int) -> Iterator[Content]:
    """The actions by area with their keys, then the marks; what is long goes on below its beginning."""
    for area, deeds in by_area(listed).items():
        yield Content.styled(area, f"bold {ink.PLACE}")
        for deed in deeds:
            keys = Content.styled(f"  {' '.join(deed.keys):<16} ", ink.STRONG)
            yield from hanging(keys, Content(deed.sentence), width)
    yield Content.styled("marks", f"bold {ink.PLACE}")
    for mark, style, meaning in MARKS:
        yield from hanging(Content.styled(f"  {mark:<16} ", style), Content(meaning), width)
