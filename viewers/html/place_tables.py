"""The numbers of drawings that are of the recording around a finding, not of its own evidence, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speckv_debug.kernels.reserve import page_ceil
from speckv_debug.model.finding import Finding
from speckv_debug.model.text import printable
from speckv_debug.model.verify import VerifyStep
from speckv_debug.replay.pool_state import Use
from speckv_debug.viewers.html.after_move import lost
from speckv_debug.viewers.html.drawing import LANES, ROOM, STRIPS, TREE, notes_of, of_step
from speckv_debug.viewers.html.kept_kv import kept_kv
from speckv_debug.viewers.html.markup import Html, table
from speckv_debug.viewers.html.pages import GRANTED_TO, Moment, holder_shown, said_of, window
from speckv_debug.viewers.html.proof import Place
from speckv_debug.viewers.html.verify_tables import MOVES, move_table, strip_table, tree_table


def place_tables(finding: Finding, place: Place) -> Iterator[Html]:
    """The drawn pages at each moment, the room before the verify, and what a release names."""
    pages, _ = window(place.moments, place.pages)
    if pages:
        columns = ("page", *(moment.words for moment in place.moments))
        moments = range(len(place.moments))
        rows = [(page, *(_held(place.moments, number, page) for number in moments)) for page in pages]
        yield table(columns, rows, caption="pages around it")
    if place.shown is not None:
        yield from _verify(finding, place, place.shown.step)
    if (told := place.release) is not None:
        names = ("committed", "allocated", "target", "free_start", "page_size")
        released = [(name, value) for name in names if (value := getattr(told, name)) is not None]
        yield table(("release", "value"), released, caption="what the release gives up")


def _verify(finding: Finding, place: Place, step: VerifyStep) -> Iterator[Html]:
    """A table for each drawing of the verify, unless the evidence has it."""
    drawn = {title for title, picture in of_step(step, finding) if picture}
    told = {evidence.columns[:2] for evidence in finding.evidence}
    kept = kept_kv(step, finding)
    if LANES[0] in drawn and MOVES[:2] not in told:
        yield move_table(step, lost(step, finding), kept)
    if TREE[0] in drawn and ("tree", "row") not in told:
        yield tree_table(step, notes_of(step, finding))
    if STRIPS[0] in drawn:
        yield strip_table(step, kept)
    if ROOM[0] in drawn:
        yield _room(place)


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
