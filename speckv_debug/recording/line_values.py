"""One JSON object → the table and the typed column values of an event; strict, and clear about mistakes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from speckv_debug.recording.mistake import Mistake, nearest, shown
from speckv_debug.recording.schema import SCHEMAS, TABLES
from speckv_debug.recording.slot_ranges import RANGE_LISTS, expand

Check = Callable[[str, Any], Any]
LARGEST_FLOAT = float(np.finfo(np.float32).max)
FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def parse_object(line: str) -> dict[str, Any]:
    """The JSON object on a line.

    Raises:
        Mistake: The line is none.
    """
    try:
        value = DECODER.decode(line)
    except (json.JSONDecodeError, RecursionError, ValueError) as error:
        reason = (
            f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
        )
        raise Mistake(f"this is no JSON: {reason}", "Each event is one JSON object on one line.") from error
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


def _integer(bits: int) -> Check:
    def check(name: str, value: Any) -> int:
        if type(value) is not int:
            raise Mistake(f'"{name}" should be an integer, not {shown(value)}', _unquote(value))
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise Mistake(f'"{name}" is {shown(value)}: out of range', f"It is a {bits}-bit integer.")
        return value

    return check


def _unquote(value: Any) -> str:
    return "Write it without quotes." if isinstance(value, str) else "Leave it out if it is not known."


def _integers(bits: int) -> Check:
    one = _integer(bits)

    def check(name: str, value: Any) -> Any:
        items = _list(name, value)
        if not items or set(map(type, items)) == {int}:
            if items and not -(1 << bits - 1) <= min(items) <= max(items) < 1 << bits - 1:
                raise Mistake(f'"{name}" holds a number out of range', f"Its items are {bits}-bit integers.")
            return items
        if name in RANGE_LISTS:
            return _expanded(name, items)
        at = next(i for i, item in enumerate(items) if type(item) is not int)
        return one(f"{name}[{at}]", items[at])

    return check


def _expanded(name: str, items: list[Any]) -> Any:
    try:
        return expand(items)
    except Mistake as mistake:
        raise Mistake(f'"{name}": {mistake.what}', mistake.remedy) from mistake


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Mistake(f'"{name}" should be a list, not {shown(value)}', "Write it in brackets: [1, 2].")
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        quoted = shown(str(value)) if type(value) in (int, float) else ""
        raise Mistake(
            f'"{name}" should be a string, not {shown(value)}', f"Write {quoted}." if quoted else ""
        )
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise Mistake(
            f'"{name}" holds half of a surrogate pair: {shown(value)}', "It can't be stored as UTF-8."
        )
    return value


def _texts(name: str, value: Any) -> list[str]:
    return [_text(f"{name}[{at}]", item) for at, item in enumerate(_list(name, value))]


def _float(name: str, value: Any) -> float:
    if isinstance(value, str) and value in FLOATS:
        return FLOATS[value]
    if type(value) not in (int, float):
        raise Mistake(f'"{name}" should be a number, not {shown(value)}', 'Or "inf", "-inf", "nan".')
    if not -LARGEST_FLOAT <= value <= LARGEST_FLOAT:
        raise Mistake(f'"{name}" is {shown(value)}: out of range', 'It is a 32-bit float; or write "inf".')
    return float(value)


def _bool(name: str, value: Any) -> bool:
    if type(value) is not bool:
        raise Mistake(f'"{name}" should be true or false, not {shown(value)}')
    return value


def _check_for(kind: pa.DataType) -> Check:
    if pa.types.is_list(kind):
        return _texts if pa.types.is_string(kind.value_type) else _integers(kind.value_type.bit_width)
    if pa.types.is_integer(kind):
        return _integer(kind.bit_width)
    if pa.types.is_floating(kind):
        return _float
    return _bool if pa.types.is_boolean(kind) else _text


CHECKS: dict[str, dict[str, Check]] = {
    table: {field.name: _check_for(field.type) for field in SCHEMAS[table]} for table in TABLES
}
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
    wrong += ["table_slots"] if len(row.get("table_slots", ())) > width else []
    if wrong:
        raise Mistake(
            f'"{wrong[0]}" has {len(row[wrong[0]])} items, "width" is {width}',
            "It holds one item a verify row; only accept_index has its own length.",
        )
