"""The recorded command line for a page that is made to be passed on: without the values of keys and passwords."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

SECRET = re.compile(r"(?:.*[-_])?(?:key|token|secret|password|passwd|credentials?|auth)", re.IGNORECASE)
"""Names of options and variables, without leading dashes, whose value nobody else should read."""
HIDDEN = "(hidden)"


def command_words(command: object) -> str:
    """The command as one would type it; `unknown` where none was recorded."""
    if isinstance(command, list):
        return shlex.join(without_secrets([str(word) for word in command]))
    return " ".join(without_secrets(str(command).split(" "))) if command else "unknown"


def without_secrets(words: Sequence[str]) -> list[str]:
    """`--api-key abc`, `--api-key=abc` and `HF_TOKEN=abc` without their value."""
    shown: list[str] = []
    for at, word in enumerate(words):
        name, given, _ = word.partition("=")
        before = words[at - 1] if at else ""
        if given and SECRET.fullmatch(name.lstrip("-")):
            shown.append(f"{name}={HIDDEN}")
        elif before.startswith("-") and SECRET.fullmatch(before.lstrip("-")) and not word.startswith("-"):
            shown.append(HIDDEN)
        else:
            shown.append(word)
    return shown
