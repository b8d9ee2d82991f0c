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


def test_the_caption_of_a_verify_says_whose_it_is(tmp_path: Path) -> None:
    run = recording(tmp_path, [accept(812, "a", row=3), accept(812, "b", row=4)])
    made = page(run, result(finding(request="b", row=4, first_seq=900)))
    for title in ("KV of the accepted rows", "Draft tree"):
        assert f"<figcaption>{title} · request b, step 812</figcaption>" in made
