"""Text from a recording is untrusted: how it is shown on a terminal."""

from __future__ import annotations


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
