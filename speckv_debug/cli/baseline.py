"""The file of known findings: read, and written anew on request."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speckv_debug.errors import UsageError
from speckv_debug.model.labels import meant
from speckv_debug.model.text import printable

if TYPE_CHECKING:
    from speckv_debug.checks.fingerprint import Fingerprint

VERSION_KEY = "speckv_debug_baseline"
VERSION = 1
KEYS = (VERSION_KEY, "known")
FIELDS = ("rule", "pool", "event", "words")


def add_baseline_option(parser: argparse.ArgumentParser) -> None:
    """Add `--baseline`."""
    parser.add_argument(
        "--baseline", type=Path, metavar="FILE", help="leave out the findings that FILE knows, and count them"
    )


def read_baseline(file: Path) -> frozenset[Fingerprint]:
    """The known findings.

    Raises:
        UsageError: The file can't be read or is no baseline; names file and entry.
    """
    shown = printable(str(file))
    try:
        found: Any = json.loads(file.read_bytes())
    except OSError as error:
        remedy = "Write it with --write-baseline." if isinstance(error, FileNotFoundError) else ""
        raise UsageError(f"{shown} can't be read: {error.strerror}", remedy) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{shown} is no JSON: {printable(str(error))}", NOT_OURS) from error
    if not isinstance(found, dict) or VERSION_KEY not in found:
        raise UsageError(f"{shown} is no baseline: it has no {VERSION_KEY}", NOT_OURS)
    if found[VERSION_KEY] != VERSION:
        said = printable(repr(found[VERSION_KEY]))
        raise UsageError(
            f"{shown}: {VERSION_KEY} is {said}, this version reads {VERSION}", "Update speckv-debug."
        )
    _refuse_unknown(shown, "", found, KEYS)
    known = found.get("known")
    if not isinstance(known, list):
        raise UsageError(f"{shown}: known is no list", NOT_OURS)
    return frozenset(_entry(shown, at, value) for at, value in enumerate(known))


NOT_OURS = "Give the file that --write-baseline wrote."


def _entry(shown: str, at: int, value: Any) -> Fingerprint:
    from speckv_debug.checks.fingerprint import Fingerprint

    if not isinstance(value, dict) or not isinstance(value.get("rule"), str):
        raise UsageError(f"{shown}: known[{at}] is no object with a rule", NOT_OURS)
    words = value.get("words", {})
    _refuse_unknown(shown, f"known[{at}].", value, FIELDS)
    texts = [
        value.get("pool", ""),
        value.get("event", ""),
        *(words.values() if isinstance(words, dict) else [None]),
    ]
    if not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{shown}: known[{at}] has a value that is no text", NOT_OURS)
    return Fingerprint(_rule(shown, at, value["rule"]), texts[0], texts[1], tuple(words.items()))


def _refuse_unknown(shown: str, where: str, keys: Iterable[str], known: Sequence[str]) -> None:
    for key in keys:
        if key not in known:
            remedy = f"{meant(key, known)}Known: {', '.join(known)}."
            raise UsageError(f"{shown}: {where}{printable(key)} is no key", remedy)


def _rule(shown: str, at: int, id: str) -> str:
    from speckv_debug.checks.selection import named

    try:
        return named(id).id
    except UsageError as error:
        what = f"{shown}: known[{at}].rule names a rule that does not exist: {error.what}"
        raise UsageError(what, error.remedy) from error


def write_baseline(file: Path, found: Collection[Fingerprint], ran: Collection[str]) -> int:
    """Replace a baseline, or begin one; what the old one knows of rules that did not run stays. How many entries it has.

    Raises:
        UsageError: The file is something else, or can't be written.
    """
    from speckv_debug.recording.atomic import write_json

    old = read_baseline(file) if file.exists() else frozenset()
    entries = sorted({*found, *(entry for entry in old if entry.rule not in ran)})
    try:
        write_json(file, {VERSION_KEY: VERSION, "known": [_fields(entry) for entry in entries]})
    except OSError as error:
        said = f"{printable(str(file))} can't be written: {error.strerror}"
        raise UsageError(said, "Choose another place with --baseline.") from error
    return len(entries)


def _fields(entry: Fingerprint) -> dict[str, Any]:
    found = {"rule": entry.rule, "pool": entry.pool, "event": entry.event, "words": dict(entry.words)}
    return {name: value for name, value in found.items() if value}
