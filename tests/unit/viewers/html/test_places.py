"""Whose verify is drawn beside a finding: its own or none, never that of another request."""

from __future__ import annotations

from pathlib import Path

import pytest

from speckv_debug.viewers.html.places import RecordedPlaces
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
