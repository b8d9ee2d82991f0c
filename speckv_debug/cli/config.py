"""`[tool.speckv-debug]` of a pyproject.toml, or of the file that --config names: rules left out, severities, a baseline."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from speckv_debug.errors import UsageError
from speckv_debug.model.finding import Severity
from speckv_debug.model.labels import meant
from speckv_debug.model.text import printable

FILE = "pyproject.toml"
TABLE = "tool.speckv-debug"
KEYS = ("disable", "severity", "baseline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What a project asks for; `file` is None without a configuration."""

    file: Path | None = None
    disable: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    baseline: Path | None = None


def add_config_options(parser: argparse.ArgumentParser) -> None:
    """Add `--config` and `--no-config`."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help=f"take [{TABLE}] of this TOML file [the next {FILE} upwards that has it]",
    )
    either.add_argument("--no-config", action="store_true", help="look for no configuration")


def configured(args: argparse.Namespace, start: Path) -> Config:
    """The configuration that the options ask for.

    Args:
        args: With `config` and `no_config`.
        start: The folder to look in first, then in those above it.

    Raises:
        UsageError: A file that can't be read, or a mistake in it; names file and key.
    """
    if args.no_config:
        return Config()
    if args.config is not None:
        if (table := _table(args.config)) is None:
            raise UsageError(
                f"{_shown(args.config)} has no table [{TABLE}]", "Put the keys below that heading."
            )
        return _config(args.config, table)
    for folder in (start, *start.parents):
        if (folder / FILE).is_file() and (table := _table(folder / FILE)) is not None:
            return _config(folder / FILE, table)
    return Config()


def _table(file: Path) -> Any:
    """The table, None if the file has none."""
    import tomllib  # not for a command that reads no configuration

    try:
        found: Any = tomllib.loads(file.read_bytes().decode("utf-8"))
    except OSError as error:
        remedy = "Check the path." if isinstance(error, FileNotFoundError) else UNREADABLE
        raise UsageError(f"{_shown(file)} can't be read: {error.strerror}", remedy) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{_shown(file)} is no TOML: {printable(str(error))}", NO_CONFIG) from error
    for name in TABLE.split("."):
        if not isinstance(found, dict) or name not in found:
            return None
        found = found[name]
    return found


UNREADABLE = "Name a file that can be read with --config, or say --no-config."
NO_CONFIG = "Mend the file, or leave it out with --no-config."


def _config(file: Path, table: Any) -> Config:
    if not isinstance(table, dict):
        raise _wrong(file, "", f"is {_kind(table)}, not a table", f"Write the heading [{TABLE}].")
    for key in table:
        if key not in KEYS:
            remedy = f"{meant(key, KEYS)}Known: {', '.join(KEYS)}."
            raise _wrong(file, key, "is no key of this table", remedy)
    baseline = table.get("baseline")
    if baseline is not None and (not isinstance(baseline, str) or not baseline):
        raise _wrong(
            file, "baseline", f"is {_kind(baseline)}, not the path of a file", 'Such as "known.json".'
        )
    return Config(
        file=file,
        disable=_disabled(file, table.get("disable", [])),
        severity=_severities(file, table.get("severity", {})),
        baseline=None if baseline is None else file.parent / baseline,
    )


def _disabled(file: Path, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _wrong(file, "disable", f"is {_kind(value)}, not a list of rule ids", 'Such as ["LOC-PAD"].')
    return tuple(dict.fromkeys(_rule(file, f"disable[{at}]", id) for at, id in enumerate(value)))


def _severities(file: Path, value: Any) -> dict[str, Severity]:
    if not isinstance(value, dict):
        raise _wrong(file, "severity", f"is {_kind(value)}, not a table", 'Such as { LOC-PAD = "warning" }.')
    found = {}
    for id, word in value.items():
        key = f"severity.{id}"
        if word not in list(Severity):
            said = printable(repr(word))
            raise _wrong(file, key, f"is {said}, which is no severity", f"Use one of: {', '.join(Severity)}.")
        found[_rule(file, key, id)] = Severity(word)
    return found


def _rule(file: Path, key: str, id: Any) -> str:
    from speckv_debug.checks.selection import named

    if not isinstance(id, str):
        raise _wrong(file, key, f"is {_kind(id)}, not a rule id", "`speckv-debug rules` lists all.")
    try:
        return named(id).id
    except UsageError as error:
        raise _wrong(file, key, f"names a rule that does not exist: {error.what}", error.remedy) from error


def _wrong(file: Path, key: str, what: str, remedy: str = "") -> UsageError:
    where = f"{TABLE}.{printable(key)}" if key else TABLE
    return UsageError(f"{_shown(file)}: {where} {what}", remedy)


KINDS: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"), (int, "a number"), (float, "a number"), (str, "a text"), (list, "a list"), (dict, "a table"),
)  # fmt: skip


def _kind(value: Any) -> str:
    return next((name for kind, name in KINDS if isinstance(value, kind)), "a date")


def _shown(file: Path) -> str:
    return printable(str(file))
