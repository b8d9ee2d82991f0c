"""Untrusted text never controls a terminal; a noun agrees with its number."""

import re
from pathlib import Path

import pytest

from speckv_debug.model.text import amount, cut, events_missing, printable, quantity


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, Grüße, 日本", "plain text, Grüße, 日本"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("two\nlines\r\ttab", r"two\nlines\r\ttab"),
        ("\x9b31m \x7f \x00", r"\x9b31m \x7f \x00"),
        ("\u202egnp.exe\u2066", r"\u202egnp.exe\u2066"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("half \ud800", r"half \ud800"),
        ("\U000e0001", r"\U000e0001"),
        ("", ""),
    ],
)
def test_what_is_not_plainly_visible_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(text).isprintable()


def test_amounts_are_counted_nouns() -> None:
    assert [amount(n, "step") for n in (0, 1, 1204)] == ["0 steps", "1 step", "1,204 steps"]
    assert [quantity(n, "row was", "rows were") for n in (1, 1204, None)] == [
        "1 row was",
        "1204 rows were",
        "None rows were",
    ]
    assert amount(2, "verify", "verifies") == "2 verifies"


def test_no_text_leaves_it_to_people_whether_it_is_one() -> None:
    root = Path(__file__).parents[3]
    files = [p for folder in ("speckv_debug", "viewers", "collectors") for p in (root / folder).rglob("*.py")]
    found = [(p.name, m[0]) for p in files for m in re.finditer(r"\} [a-z ]+\((?:s|es)\)", p.read_text())]
    assert len(files) > 100 and not found


@pytest.mark.parametrize(
    ("holes", "said"),
    [
        ([(3, 4)], "event 3 is missing"),
        ([(3, 6)], "events 3 to 5 are missing"),
        ([(3, 4), (9, 12)], "events are missing in 2 places, first event 3"),
        ([(3, 6), (9, 12)], "events are missing in 2 places, first events 3 to 5"),
    ],
)
def test_missing_events_are_told_in_the_number_that_they_are(holes: list[tuple[int, int]], said: str) -> None:
    assert events_missing(holes) == said


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short", "short"),
        ("a" * 300, "a" * 300),
        (f"request {'a' * 301} ended", f"request {'a' * 100}… [301 characters] ended"),
        ("ab " * 2000, f"{('ab ' * 2000)[:4000]}… [of 6,000 characters]"),
    ],
)
def test_an_overlong_text_is_cut_and_says_how_long_it_was(text: str, shown: str) -> None:
    assert cut(text) == shown
