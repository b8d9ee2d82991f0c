"""Recorded events as lines."""

from speckv_debug.model.events import Accept, Free, Note
from speckv_debug.viewers.tui.widgets.event_list import EventList, whole


def line(event: Accept | Free | Note) -> str:
    events = EventList()
    events._events = (event,)
    return events.line(0, 200).plain


def test_single_values_come_before_lists_and_slots_are_ranges() -> None:
    event = Free(
        seq=70, step=8, pool="full", request="7", row=3, slots=(5, *range(4224, 4352), 9), reason="finish"
    )
    assert line(event) == (
        "         70        8  free          7 · row 3  pool full, reason finish, slots [5 4224:4352 9]"
    )


def test_long_lists_say_how_long_they_are() -> None:
    event = Accept(seq=1, predict=tuple(range(0, 200, 2)))
    assert line(event).endswith("predict [0 2 4 6 8 10 12 14 … 100 in all]")


def test_text_of_an_event_is_escaped() -> None:
    assert line(Note(seq=1, level="info", text="[b]\x1b[31m\nnew")).endswith("text [b]\\x1b[31m\\nnew")


def test_one_event_in_full_has_a_line_for_each_value() -> None:
    event = Accept(seq=1, step=2, request="7", accept_index=(0, 1, 3))
    assert whole(event).plain.splitlines() == [
        "accept event 1",
        "step               2",
        "request            7",
        "accept_index       [0 1 3]",
    ]
