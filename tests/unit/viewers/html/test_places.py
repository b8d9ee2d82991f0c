"""Whose verify is drawn beside a finding: its own or none, never that of another request; what the map of the pages says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from speckv_debug.replay.page_map import Holder, PageMap
from speckv_debug.replay.pool_state import Use
from speckv_debug.viewers.html.pages import Moment, draw_pages
from speckv_debug.viewers.html.place_tables import place_tables
from speckv_debug.viewers.html.places import RecordedPlaces
from speckv_debug.viewers.html.proof import Place
from tests.read_drawing import said_by_place
from tests.reported import accept, finding, page, recording, result


@pytest.fixture
def places(tmp_path: Path) -> RecordedPlaces:
    events = [accept(812, "a", row=3), accept(812, "b", row=4, epoch=2)]
    return RecordedPlaces(recording(tmp_path, events))


@pytest.mark.parametrize(
    ("named", "whose"),
    [
        ({"request": "b", "row": 4, "epoch": 2}, "b"),
        ({"request": None, "row": 4, "epoch": 2}, "b"),
        ({"request": None, "row": 4, "epoch": 1}, None),
        ({"request": "b", "row": 4, "epoch": 1}, None),
        ({"request": None, "row": 0, "epoch": None}, None),
        ({"request": None, "row": None, "epoch": None}, None),
    ],
)
def test_only_the_verify_of_the_finding_is_drawn(
    places: RecordedPlaces, named: dict[str, object], whose: str | None
) -> None:
    shown = places.verify(finding(first_seq=900, **named))
    assert (shown.step.request if shown else None) == whose


def test_rows_left_behind_are_those_of_the_last_verify_before_however_long_ago(tmp_path: Path) -> None:
    others = [accept(3 + n, f"r{n % 7}") for n in range(1500)]
    places = RecordedPlaces(recording(tmp_path, [accept(1, "a"), accept(2, "a"), *others, accept(9000, "a")]))
    missing = finding(rule="MOV-MISSING", request="a", row=7, step=9000, slots=(5,), first_seq=1502)
    shown = places.verify(missing)
    assert shown is not None and shown.step.step == 2
    first = places.verify(finding(rule="MOV-MISSING", request="a", row=7, step=1, slots=(5,), first_seq=0))
    assert first is None
    leak = places.verify(finding(rule="OWN-LEAK", request="a", row=7, step=9999, first_seq=5000))
    assert leak is not None and (leak.step.step, leak.exact) == (9000, False)


def test_the_caption_of_a_verify_says_whose_it_is(tmp_path: Path) -> None:
    run = recording(tmp_path, [accept(812, "a", row=3), accept(812, "b", row=4)])
    made = page(run, result(finding(request="b", row=4, first_seq=900)))
    for title in ("KV of the accepted rows", "Draft tree"):
        assert f"<figcaption>{title} · request b, step 812</figcaption>" in made


def page_map(*uses: Use, kind: str = "full") -> PageMap:
    """Pages 1, 2, … of a pool, all granted to request 7 at last."""
    return PageMap(
        pool="full",
        kind=kind,
        page_size=4,
        first=1,
        whole=True,
        use=np.array(uses, dtype=np.int8),
        seq=9,
        holder=np.zeros(len(uses), dtype=np.int32),
        holders=(Holder("7", 3, 1),),
    )


def test_a_page_on_its_way_back_is_no_leak() -> None:
    before = page_map(Use.RESERVE, Use.RESERVE, Use.COMMITTED)
    at, end = page_map(Use.UNHELD, Use.UNHELD, Use.UNHELD), page_map(Use.UNHELD, Use.FREE, Use.TREE)
    moments = [Moment("before", before), Moment("at the event", at), Moment("end of the step", end)]
    drawn = draw_pages(moments, (1,))
    said = said_by_place(drawn)
    assert {"page 1 at the event: ✗! 7", "page 2 at the event: ↩ 7", "page 3 at the event: ↩ 7"} <= said
    assert "page 1 end of the step: ✗! 7" in said and "↩ not free yet" in drawn
    rows = "".join(place_tables(finding(rule="OWN-LEAK"), Place(pages=(1,), moments=tuple(moments))))
    assert rows.count("not free yet: freed or taken over later in the step, granted to request 7") == 2


def test_the_name_below_a_page_is_of_whom_holds_it() -> None:
    uses = (Use.COMMITTED, Use.LOCKED, Use.GRANTED)
    drawn = draw_pages([Moment("at the event", page_map(*uses))], (1,))
    assert said_by_place(drawn) == {
        f"page {n} at the event: {told}" for n, told in enumerate(("C 7", "L", "g 7"), 1)
    }
    assert "name below g or !: whom it was granted to at last" in drawn
    counted = draw_pages([Moment("at the event", page_map(Use.GRANTED, kind="c128"))], (1,))
    assert said_by_place(counted) == {"page 1 at the event: g"}
    assert "granted: who holds it its references tell" in counted and "whom it was" not in counted
