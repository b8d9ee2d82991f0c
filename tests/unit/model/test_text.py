"""Untrusted text never controls a terminal."""

import pytest

from speckv_debug.model.text import printable


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
