"""The numbers of drawings that are of the recording around a finding, not of its own evidence, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speckv_debug.kernels.reserve import page_ceil
from speckv_debug.model.finding import Finding
from speckv_debug.model.text import printable
from speckv_debug.replay.pool_state import Use
from speckv_debug.viewers.html.drawing import ROOM, of_step
from speckv_debug.viewers.html.markup import Html, table
from speckv_debug.viewers.html.pages import GRANTED_TO, Moment, holder_shown, said_of, window
from speckv_debug.viewers.html.proof import Place


def place_tables(finding: Finding, place: Place) -> Iterator[Html]:
    """The drawn pages at each moment, the room before the verify, and what a release names."""
    pages, _ = window(place.moments, place.pages)
    if pages:
        columns = ("page", *(moment.words for moment in place.moments))
        moments = range(len(place.moments))
        rows = [(page, *(_held(place.moments, number, page) for number in moments)) for page in pages]
        yield table(columns, rows, caption="pages around it")
    if place.shown is not None and any(t == ROOM[0] and p for t, p in of_step(place.shown.step, finding)):
        yield _room(place)
    if (told := place.release) is not None:
        names = ("committed", "allocated", "target", "free_start", "page_size")
        released = [(name, value) for name in names if (value := getattr(told, name)) is not None]
        yield table(("release", "value"), released, caption="what the release gives up")


def _held(moments: Sequence[Moment], number: int, page: int) -> str:
    """The use of a page in words, and whose row names it or whom it was granted to."""
    found = moments[number].map
    holder, said = holder_shown(found, page), said_of(moments, number, page)
    if holder is None:
        return said
    name = f"row {holder.row}" if holder.request is None else f"request {printable(holder.request)}"
    granted = Use(int(found.use[page - found.first])) in GRANTED_TO
    return f"{said}, {'granted to ' if granted else ''}{name}"


def _room(place: Place) -> Html:
    assert place.shown is not None
    bounds, size = place.shown.step.bounds, place.shown.step.page_size
    assert bounds is not None
    rows = [("committed", bounds.committed), ("allocated", bounds.allocated)]
    rows += [("page ends", page_ceil(bounds.committed, size))] if size and size > 1 else []
    return table(("as the host had it before the verify", "position"), rows, caption="room")
