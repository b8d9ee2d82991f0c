"""Text from a recording, which is untrusted, as Markdown: no markup, no link, nobody called by name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from speckv_debug.model.text import cut, printable

SPECIAL = re.compile(r"([\\`*_\[\]<>|~$])")
CALLS = re.compile(r"([@#]|://|www\.|\bGH-)")
"""What an issue tracker would turn into a person, another issue or a link, wherever it stands in a word."""
NOTHING = "<!-- -->"
LONGEST_RUN = re.compile("`+")


def plain(text: str) -> str:
    """The text on one line, as it reads, cut where it is overlong."""
    escaped = SPECIAL.sub(r"\\\1", printable(cut(text))).replace("&", "&amp;")
    return CALLS.sub(lambda found: found[1] + NOTHING, escaped)


def block(lines: Iterable[str]) -> str:
    """Lines as they stand, in letters of one width; they are on one line each already."""
    body = "\n".join(lines)
    fence = "`" * max(3, 1 + max(map(len, LONGEST_RUN.findall(body)), default=0))
    return f"{fence}text\n{body}\n{fence}"
