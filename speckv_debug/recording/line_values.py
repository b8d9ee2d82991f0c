"""One JSON object → the table and the typed column values of an event; strict, and clear about mistakes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from speckv_debug.recording.column_checks import CHECKS
from speckv_debug.recording.mistake import Mistake, nearest, shown


def parse_object(line: str) -> dict[str, Any]:
    """The JSON object on a line.

    Raises:
        Mistake: The line is none.
    """
    try:
        value = DECODER.decode(line)
    except json.JSONDecodeError as error:
        reason = f"{error.msg} at column {error.colno}"
        raise Mistake(f"this is no JSON: {reason}", "Each event is one JSON object on one line.") from error
    except RecursionError as error:
        raise Mistake("lists or objects are nested too deeply", "No column holds lists of lists.") from error
    except ValueError as error:
        raise Mistake("a number has too many digits", "Numbers fit into 64 bits.") from error
    if not isinstance(value, dict):
        raise Mistake(f"{shown(value)} is no JSON object", 'Write {"event": "alloc", ...} on one line.')
    return value


def event_name(value: Mapping[str, Any], known: tuple[str, ...]) -> str:
    """Which table or header the object is for.

    Raises:
        Mistake: It names none, or one that does not exist.
    """
    name = value.get("event")
    if not isinstance(name, str):
        raise Mistake('there is no "event" that names the table', f"Known events: {', '.join(known)}.")
    if name not in known:
        remedy = nearest(name, known) or f"Known events: {', '.join(known)}."
        raise Mistake(f"{shown(name)} is no event", remedy)
    return name


def event_values(table: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """The object's columns in the types of the table; unknown keys and nulls are left out.

    Raises:
        Mistake: A value has the wrong type, is out of range, or a list has the wrong length.
    """
    checks = CHECKS[table]
    row = {
        name: checks[name](name, item) for name, item in value.items() if item is not None and name in checks
    }
    _check_lengths(table, row)
    return row


def unknown_columns(table: str, value: Mapping[str, Any]) -> list[str]:
    """Keys of the object that are no columns of the table."""
    return [name for name in value if name not in CHECKS[table] and name != "event"]


def _no_constant(name: str) -> None:
    raise Mistake(f"{name} is no JSON", 'Write "inf", "-inf" or "nan" (with quotes).')


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Mistake(f"{shown(twice)} is there twice", "Keep one of them.")
    return value


DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_no_repeats)


PER_ROW = (
    "draft_tokens",
    "positions",
    "next_token",
    "next_sibling",
    "target_predict",
    "predict",
    "out_cache_loc",
)
PARALLEL = {
    "move": ("src", "tgt", "src_before", "tgt_after"),
    "swa_map": ("full_slots", "swa_slots"),
    "page_ref": ("pages", "count_after"),
}


def _check_lengths(table: str, row: Mapping[str, Any]) -> None:
    if table == "accept":
        _check_widths(row)
    lists = [name for name in PARALLEL.get(table, ()) if name in row]
    for name in lists[1:]:
        if len(row[name]) != len(row[lists[0]]):
            raise Mistake(
                f'"{name}" has {len(row[name])} items, "{lists[0]}" has {len(row[lists[0]])}',
                "The two go together, item by item.",
            )


def _check_widths(row: Mapping[str, Any]) -> None:
    """Every verify row has its entry; `table_slots` ends early where req_to_token's row does."""
    width = row.get("width")
    if width is None:
        return
    wrong = [name for name in PER_ROW if name in row and len(row[name]) != width]
    wrong += ["table_slots"] if "table_slots" in row and len(row["table_slots"]) > width else []
    if wrong:
        raise Mistake(
            f'"{wrong[0]}" has {len(row[wrong[0]])} items, "width" is {width}',
            "It holds one item a verify row; only accept_index has its own length.",
        )
