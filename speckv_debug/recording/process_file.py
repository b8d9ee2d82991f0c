"""process.json: reading it tolerantly, and the folder name that a process gets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from speckv_debug.model.process import POOL_KINDS, Pool, Process, Rank
from speckv_debug.recording.mistake import nearest, shown

POOL_FIELDS = {field.name: str(field.type) for field in fields(Pool)}


def label_of(raw: Mapping[str, Any]) -> str:
    """`tp0-pp0-dp0-PID`, without the pid if there is none; an unknown rank counts as 0."""
    rank = raw.get("rank")
    numbers = rank if isinstance(rank, Mapping) else {}
    parts = [f"{axis}{_int(numbers.get(axis)) or 0}" for axis in ("tp", "pp", "dp")]
    pid = _int(raw.get("pid"))
    return "-".join(parts if pid is None else [*parts, str(pid)])


def stated_by(label: str) -> dict[str, Any]:
    """The rank and pid that a folder name tells, for a process.json that is lost."""
    match = re.fullmatch(r"tp([0-9]{1,9})-pp([0-9]{1,9})-dp([0-9]{1,9})(?:-([0-9]{1,9}))?(?:-[0-9]+)?", label)
    if not match:
        return {}
    rank = {axis: int(match[at]) for at, axis in enumerate(("tp", "pp", "dp"), 1)}
    return {"rank": rank} | ({"pid": int(match[4])} if match[4] else {})


def process_from(label: str, raw: Mapping[str, Any]) -> Process:
    """The process that a JSON object describes; a value of the wrong type, or that can't be, counts as unknown."""
    rank = _object(raw.get("rank"))
    pools = [_pool(entry) for entry in _list(raw.get("pools")) if isinstance(entry, Mapping)]
    return Process(
        label=label,
        engine=_str(raw.get("engine")),
        engine_version=_str(raw.get("engine_version")),
        adapter=_str(raw.get("adapter")),
        pid=_int(raw.get("pid")),
        host=_str(raw.get("host")),
        rank=Rank(tp=_int(rank.get("tp")), pp=_int(rank.get("pp")), dp=_int(rank.get("dp"))),
        tables=tuple(name for name in _list(raw.get("tables")) if isinstance(name, str)),
        from_start=raw.get("from_start") is True,
        pools=tuple(pool for pool in pools if pool is not None),
        settings=_object(raw.get("settings")),
        hooks={
            name: None if target is None else str(target)
            for name, target in _object(raw.get("hooks")).items()
        },
        raw=raw,
    )


def mistake_in(raw: Mapping[str, Any], *, words: bool = True) -> str | None:
    """What is wrong with a `process` line, in words, or None.

    Args:
        raw: Its content.
        words: Whether a kind of pool that is not known is wrong: a later recorder may know more.
    """
    for key, kind, says in _KINDS:
        if raw.get(key) is not None and not isinstance(raw[key], kind):
            return f'"{key}" should be {says}'
    rank = {f"rank.{axis}": _object(raw.get("rank")).get(axis) for axis in ("tp", "pp", "dp")}
    for key, value in (rank | {"pid": raw.get("pid")}).items():
        if value is not None and (_int(value) is None or not 0 <= value < 1 << 31):
            return f'"{key}" should be an integer from 0 to 2147483647'
    if not all(isinstance(name, str) for name in _list(raw.get("tables"))):
        return '"tables" should name tables'
    pools = _list(raw.get("pools"))
    if wrong := next((wrong for pool in pools if (wrong := _mistake_in_pool(pool, words))), None):
        return wrong
    names = [pool["name"] for pool in pools]
    twin = next((name for name in names if names.count(name) > 1), None)
    return None if twin is None else f"two pools have the name {shown(twin)}"


def _mistake_in_pool(pool: Any, words: bool) -> str | None:
    if not isinstance(pool, Mapping) or not isinstance(pool.get("name"), str):
        return 'each of "pools" should be an object with a "name"'
    for key, declared in POOL_FIELDS.items():
        if pool.get(key) is not None and _typed(pool[key], declared) is None:
            kind = (
                declared.partition(" ")[0].replace("tuple[str,", "list of strings").replace("int", "integer")
            )
            return (
                f'"{key}" of pool {shown(pool["name"])} should be of type {kind.replace("str", "string", 1)}'
            )
    return (_strange_kind_in(pool) if words else None) or _absurdity_in_pool(pool)


def _strange_kind_in(pool: Mapping[str, Any]) -> str | None:
    """A kind that no pool has."""
    kind = pool.get("kind")
    if kind is None or kind in POOL_KINDS:
        return None
    instead = nearest(kind, POOL_KINDS) or f"Known: {', '.join(POOL_KINDS)}."
    return f"{shown(kind)} of pool {shown(pool['name'])} is no kind of pool. {instead}"


def _absurdity_in_pool(pool: Mapping[str, Any]) -> str | None:
    """A number that no pool can have."""
    name = shown(pool["name"])
    for key, declared in POOL_FIELDS.items():
        value = pool.get(key)
        if declared.startswith("int") and value is not None and not _possible(key, value):
            return f'"{key}" of pool {name} should be an integer from {_least(key)} to 2147483647'
    return None


def _least(key: str) -> int:
    """The smallest number that a pool may have there."""
    return int(key.endswith("page_size"))


def _possible(key: str, value: int) -> bool:
    """Whether a pool may have that number there."""
    return _least(key) <= value < 1 << 31


def _pool(raw: Mapping[str, Any]) -> Pool | None:
    values = {key: _typed(raw.get(key), declared) for key, declared in POOL_FIELDS.items()}
    values = {key: None if isinstance(v, int) and not _possible(key, v) else v for key, v in values.items()}
    if values["name"] is None:
        return None
    return Pool(**{**values, "kind": values["kind"] or values["name"]})


def _typed(value: Any, declared: str) -> Any:
    if declared.startswith("tuple"):
        names = _list(value)
        return tuple(names) if isinstance(value, list) and all(isinstance(n, str) for n in names) else None
    return _int(value) if declared.startswith("int") else _str(value)


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _str(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


_KINDS = (
    ("engine", str, "a string"),
    ("engine_version", str, "a string"),
    ("adapter", str, "a string"),
    ("host", str, "a string"),
    ("rank", Mapping, 'an object such as {"tp": 0, "pp": 0, "dp": 0}'),
    ("pools", list, "a list of objects"),
    ("tables", list, "a list of table names"),
    ("settings", Mapping, "an object"),
    ("hooks", Mapping, "an object"),
    ("from_start", bool, "true or false"),
)
