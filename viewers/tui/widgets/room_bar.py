"""The end of a request's KV as a bar: committed, this verify, reserve, where the page ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from textual.content import Content

from speckv_debug.kernels.reserve import page_ceil, page_floor
from speckv_debug.model.verify import VerifyStep
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.widgets.step_panel import StepPanel

MOST_RESERVE = 4
"""The drawing is at most so many times as long as its part up to the end of the page."""


class RoomBar(StepPanel):
    """`[0, allocated)` of one request, the part around this verify drawn to scale."""

    TITLE = "Room"

    def step_lines(self, step: VerifyStep, width: int) -> Iterable[Content]:
        room = Room.of(step)
        if room is None:
            return [Content.styled("the length before this verify was not recorded", ink.FAINT)]
        return [*_bar(room, width), _legend(room)]


@dataclass(frozen=True, slots=True)
class Room:
    """Half-open ends of the parts of one request's positions, ascending, and the host's view.

    `[0, before)` was committed, `[before, after)` this verify commits, `[after, drafted)` it drafted and
    rejected, `[drafted, end)` is further reserve. `end` is `allocated` where that is known. `known` tells
    whether an accept length was recorded at all.
    """

    before: int
    after: int
    drafted: int
    end: int
    allocated: int | None
    host_committed: int | None
    page_size: int | None
    known: bool

    @classmethod
    def of(cls, step: VerifyStep) -> Room | None:
        """The room at `step`, None if its length was not recorded."""
        if step.seq_len is None:
            return None
        known = step.accept_len is not None or bool(step.accepted)
        accept_len = len(step.accepted) if step.accept_len is None else step.accept_len
        after = step.seq_len + max(0, accept_len)
        drafted = max(after, step.seq_len + len(step.tree.tokens))
        allocated = None if step.bounds is None else step.bounds.allocated
        host = None if step.bounds is None else step.bounds.committed
        end = max(drafted, allocated or 0)
        return cls(step.seq_len, after, drafted, end, allocated, host, step.page_size, known)

    @property
    def page_end(self) -> int | None:
        """Exclusive end of the page that holds the last committed position; None for pages of one slot."""
        size = self.page_size
        return None if size is None or size == 1 else page_ceil(self.after, size)

    @property
    def start(self) -> int:
        """Where the drawing starts: the page of the last old position; without pages, a little before it."""
        size = self.page_size or 1
        page = page_floor(max(self.before - 1, 0), size)
        return page if size > 1 else max(0, self.before - max(8, self.drafted - self.before))

    @property
    def shown_end(self) -> int:
        """Where the drawing ends: reserve is cut where it would dwarf the rest."""
        core = max(self.drafted, self.page_end or 0)
        return min(self.end, self.start + MOST_RESERVE * (core - self.start))

    @property
    def parts(self) -> tuple[tuple[str, str, int, int], ...]:
        """Sign, style, start, end of each part that is drawn."""
        return (
            ("█", "", self.start, self.before),
            ("▓", ink.GOOD, self.before, self.after),
            ("▒", ink.DOUBT, self.after, self.drafted),
            ("░", ink.FAINT, self.drafted, self.shown_end),
        )


def _bar(room: Room, width: int) -> Iterator[Content]:
    left = f"{'0 ⋯ ' if room.start else ''}{room.start} "
    right = f" {'' if room.shown_end == room.end else '⋯ '}{room.end}"
    cells = max(8, width - len(left) - len(right))
    ends = _scale(room, cells)
    signs = [(sign * (ends[end] - ends[start]), style) for sign, style, start, end in room.parts]
    yield Content.assemble((left, ink.FAINT), *signs, (right, ink.FAINT))
    pointers = [(len(left) + ends[room.after], f"committed {room.after}")]
    if room.page_end in ends:
        pointers.append((len(left) + ends[room.page_end], f"page ends {room.page_end}"))
    yield from _pointers(pointers)


def _scale(room: Room, cells: int) -> dict[int, int]:
    """Position → column; a part that holds any position gets a cell."""
    span = max(1, room.shown_end - room.start)
    cells = cells // span * span if span <= cells else cells
    page_end = min(room.page_end or room.end, room.shown_end)
    stops = sorted({room.start, room.before, room.after, room.drafted, room.shown_end, page_end})
    columns, last = {}, -1
    for left, stop in enumerate(reversed(stops)):
        column = round((stop - room.start) * cells / span)
        last = column if last < 0 else min(column, last - 1)
        columns[stop] = max(last, len(stops) - 1 - left)
    return columns


def _pointers(pointers: list[tuple[int, str]]) -> Iterator[Content]:
    """Each word ends below its column; two lines where one would collide."""
    line = ""
    for column, word in pointers:
        text = f"{word} ┘" if column >= len(word) + 2 else f"└ {word}"
        start = max(0, column - len(text)) if text.endswith("┘") else max(0, column - 1)
        if line and start <= len(line):
            yield Content.styled(line, ink.PLACE)
            line = ""
        line = f"{line:<{start}}{text}"
    yield Content.styled(line, ink.PLACE)


def _legend(room: Room) -> Content:
    parts: list[str | tuple[str, str]] = [f"█ before {room.before}  "]
    parts.append((f"▓ this verify {f'+{room.after - room.before}' if room.known else 'unknown'}  ", ink.GOOD))
    if room.drafted > room.after:
        parts.append((f"▒ rejected {room.drafted - room.after}  ", ink.DOUBT))
    if room.allocated is None:
        parts.append(("allocated length not recorded", ink.FAINT))
    else:
        parts.append((f"░ allocated to {room.allocated}", ink.FAINT))
    if room.host_committed is not None and room.host_committed != room.before:
        parts.append((f"  host knew {room.host_committed}", ink.FAINT))
    return Content.assemble(*parts)
