"""How text from a recording, which is untrusted, is shown on a terminal; numbers with their nouns."""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST_TEXT, LONGEST_WORD, KEPT = 4_000, 300, 100
"""Characters of a text, of a word of it, and how many stay of a word that is longer."""
LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")


def printable(text: str) -> str:
    r"""`text` on one line, with everything that is not plainly visible escaped.

    Control characters (C0, C1, newlines), bidirectional overrides, zero-width and unassigned code
    points and lone surrogates become `\x1b`, `\u202e` and so on; visible text stays as it is.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def storable(text: str) -> bool:
    """Whether it can be UTF-8, as all texts of a recording are: no half of a surrogate pair is in it."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """`text` with overlong words and at an overlong end cut to their beginnings, each saying how long it was.

    A name of a megabyte does not hide the sentence that it stands in.
    """
    if len(text) <= LONGEST_WORD and len(text) <= most:
        return text
    shown = LONG_WORD.sub(lambda word: f"{word[0][:KEPT]}… [{len(word[0]):,} characters]", text)
    return shown if len(shown) <= most else f"{shown[:most]}… [of {len(text):,} characters]"


def plural(count: int | None, noun: str, several: str = "") -> str:
    """The noun as it stands behind that number: `row` of 1, else `rows`; a verb may come with it (`row is`, `rows are`)."""
    return noun if count == 1 else several or f"{noun}s"


def amount(count: int, noun: str, several: str = "") -> str:
    """`1 step`, `1,204 steps`."""
    return f"{count:,} {plural(count, noun, several)}"


def quantity(count: int | None, noun: str, several: str = "") -> str:
    """`1 row`, `4352 rows`: as findings write numbers, so that one finds them again in the engine's logs."""
    return f"{count} {plural(count, noun, several)}"


def events_missing(holes: Sequence[tuple[int, int]]) -> str:
    """`event 3 is missing`, `events 3 to 5 are missing`, or how many such holes there are and the first; each is `[first, end)`."""
    first, end = holes[0]
    which = f"event {first}" if end - first == 1 else f"events {first} to {end - 1}"
    if len(holes) > 1:
        return f"events are missing in {len(holes)} places, first {which}"
    return f"{which} {plural(end - first, 'is', 'are')} missing"
