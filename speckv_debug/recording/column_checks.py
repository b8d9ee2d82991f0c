"""What a column of a table takes from JSON: a check a column type, that gives the value or names the mistake."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from speckv_debug.model.text import storable
from speckv_debug.recording.mistake import Mistake, shown
from speckv_debug.recording.schema import SCHEMAS, TABLES
from speckv_debug.recording.slot_ranges import RANGE_LISTS, expand

Check = Callable[[str, Any], Any]
LARGEST_FLOAT = float(np.finfo(np.float32).max)
FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


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
    if not storable(value):
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
