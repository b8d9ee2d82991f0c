"""The recorded command line for a page that is made to be passed on: without the values of keys and passwords."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

SECRET = re.compile(
    r"(?:.*[-_])?(?:keys?|tokens?|secrets?|password|passwords|passwd|credentials?|auth|authorization)",
    re.IGNORECASE,
)
"""Names of options, variables and settings, without leading dashes, whose value nobody else should read."""
COUNTED = re.compile(r"tokens?$", re.IGNORECASE)
"""Names that mostly are those of a number of tokens."""
SCHEME = re.compile(r"(?:.*\W)?(?:bearer|basic)", re.IGNORECASE)
"""The word of a header behind which stands who asks."""
HIDDEN = "(hidden)"


def command_words(command: object) -> str:
    """The command as one would type it; `unknown` where none was recorded."""
    if isinstance(command, list):
        return shlex.join(without_secrets([str(word) for word in command]))
    return " ".join(without_secrets(str(command).split(" "))) if command else "unknown"


def without_secrets(words: Sequence[str]) -> list[str]:
    """`--api-key abc`, `--api-key=abc`, `HF_TOKEN=abc` and `Bearer abc` without their value, within a quoted word too."""
    return [_shown(words[at - 1] if at else "", word) for at, word in enumerate(words)]


def is_secret(name: str, value: str) -> bool:
    """Whether the name is one of a secret; `max_total_tokens` of a number is none."""
    counted = COUNTED.search(name) is not None and value.isdecimal()
    return SECRET.fullmatch(name.lstrip("-")) is not None and not counted


def _shown(before: str, word: str) -> str:
    if " " in word:
        return " ".join(without_secrets(word.split(" ")))
    name, given, value = word.partition("=")
    if given and is_secret(name, value):
        return f"{name}={HIDDEN}"
    asked = (before.startswith("-") and is_secret(before, word)) or SCHEME.fullmatch(before) is not None
    return HIDDEN if asked and not word.startswith("-") else word
