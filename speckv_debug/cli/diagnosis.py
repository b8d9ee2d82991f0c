"""Whether a recording would come about: the target's Python, its engine and plugin, the place on disk."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from speckv_debug import __version__
from speckv_debug.cli.handshake import ALLOW_LIST, OLDEST, PLUGIN, ask_python, python_of, release_numbers
from speckv_debug.errors import UsageError

State = Literal["ok", "wrong", "unknown"]
PROBE_S = 60
ENOUGH = 1 << 30
"""Bytes free on disk below which a long recording may end early."""
PROBE = """
import importlib.metadata as metadata, importlib.util as util, json, sys
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
def broken(entry):
    try:
        entry.load()
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
spec = util.find_spec("sglang")
entries = {e.name: e for e in metadata.entry_points(group="sglang.srt.plugins")}
ours = entries.get("speckv_debug")
print(json.dumps({
    "sglang": version("sglang"), "speckv": version("speckv-debug"), "plugins": sorted(entries),
    "folder": list(spec.submodule_search_locations)[0] if spec and spec.submodule_search_locations else None,
    "broken": broken(ours) if ours else None,
}))
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was looked at, and what to do if it is not right."""

    name: str
    state: State
    fact: str
    remedy: str = ""


def diagnose(
    command: Sequence[str], environment: Mapping[str, str], out: Path, *, new: bool = False
) -> Iterator[Line]:
    """Everything that decides whether the command would be recorded into `out`.

    Args:
        command: The target, empty if none is named: then it is looked at with this Python.
        environment: What the target would inherit.
        out: The recording, which need not exist.
        new: Whether `record` would make it, and so refuse what stands there.
    """
    python = python_of(command, environment) if command else sys.executable
    facts = ask_python(python, PROBE, environment, PROBE_S) if python else None
    if command and shutil.which(command[0], path=environment.get("PATH", os.defpath)) is None:
        yield _not_to_be_started(command[0])
    else:
        yield _python(python, facts, command)
    if python is not None and facts is not None:
        yield _sglang(python, facts)
        yield _plugin(python, facts)
        yield from _hooks(facts)
    yield _allow_list(environment)
    yield _refusal(out) or _place(out) if new else _place(out)
    yield _room(out)


def _not_to_be_started(name: str) -> Line:
    what = f"can't start {name or 'the empty name'}: no program that may be run"
    return Line("python", "wrong", what, "Check the command after --.")


def _python(python: str | None, facts: Any, command: Sequence[str]) -> Line:
    if python is None:
        what = f"can't tell which Python {command[0]!r} runs"
        remedy = "Name the Python itself: speckv-debug doctor -- python -m sglang.launch_server"
        return Line("python", "unknown", what, remedy)
    if facts is None:
        return Line("python", "unknown", f"{python} gave no answer", "Run it by hand, and see what it says.")
    return Line("python", "ok", python)


def _sglang(python: str, facts: Mapping[str, Any]) -> Line:
    from speckv_debug.collectors.sglang.releases import UNTESTED, tier

    found = facts["sglang"]
    if found is None and facts["folder"] is None:
        return Line(
            "sglang", "wrong", f"not installed in {python}", "Name the Python that has it, behind --."
        )
    if found is None:
        return Line("sglang", "unknown", f"a source tree of no known release: {facts['folder']}")
    if release_numbers(found) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        return Line("sglang", "wrong", f"{found} loads no plugins", f"Install {oldest} or later.")
    remedy = "What resolves is recorded; look at `hooks` below." if tier(found) == UNTESTED else ""
    return Line("sglang", "ok", f"{found}, tier {tier(found)}", remedy)


def _plugin(python: str, facts: Mapping[str, Any]) -> Line:
    install = f"Install it there: {shlex.quote(python)} -m pip install speckv-debug"
    if PLUGIN not in facts["plugins"]:
        return Line("plugin", "wrong", f"speckv-debug is not installed in {python}", install)
    if facts["broken"]:
        return Line("plugin", "wrong", f"it can't be loaded: {facts['broken']}", install)
    if facts["speckv"] not in (None, __version__):
        what = f"speckv-debug {facts['speckv']} there, {__version__} here"
        return Line("plugin", "ok", what, "Use the same version to read what it writes.")
    return Line("plugin", "ok", f"speckv-debug {facts['speckv'] or __version__} is seen and loads")


def _hooks(facts: Mapping[str, Any]) -> Iterator[Line]:
    """Reads the engine's source: nothing of it is imported."""
    from speckv_debug.collectors.sglang.releases import promised
    from speckv_debug.collectors.sglang.sources import Sources

    if facts["folder"] is None:
        return
    sources = Sources(Path(facts["folder"]).parent)
    due = list(promised(str(facts["sglang"])))
    missing = sorted(target.name for target in due if sources.first_function(target.candidates) is None)
    fact = f"{len(due) - len(missing)} of {len(due)} functions that they go on are there"
    if not missing:
        yield Line("hooks", "ok", fact)
        return
    remedy = "Tables that they fill are not claimed, and laws that need them say unknown; docs/sglang.md lists releases."
    state: State = "wrong" if len(missing) == len(due) else "unknown"
    yield Line("hooks", state, f"{fact}; not there: {', '.join(missing)}", remedy)


def _allow_list(environment: Mapping[str, str]) -> Line:
    allowed = environment.get(ALLOW_LIST)
    if not allowed:
        return Line("allow-list", "ok", f"{ALLOW_LIST} is not set")
    if PLUGIN in [name.strip() for name in allowed.split(",")]:
        return Line("allow-list", "ok", f"{ALLOW_LIST} names {PLUGIN}")
    what = f"{ALLOW_LIST}={allowed} hides the plugin"
    return Line("allow-list", "wrong", what, f"Add it: {ALLOW_LIST}={shlex.quote(f'{allowed},{PLUGIN}')}")


def _refusal(out: Path) -> Line | None:
    """What `record -o` would refuse."""
    from speckv_debug.cli.output import claim

    try:
        claim(Path(os.path.realpath(out)), False, kind="folder")
    except UsageError as error:
        return Line("output", "wrong", error.what, error.remedy)
    return None


def _place(out: Path) -> Line:
    folder = _existing(out)
    if not folder.is_dir():
        return Line("output", "wrong", f"{folder} is no folder", "Choose another place with -o.")
    try:
        with tempfile.TemporaryFile(dir=folder):
            return Line("output", "ok", f"{folder} can be written")
    except OSError as error:
        what = f"{folder} can't be written: {error.strerror or error}"
        return Line("output", "wrong", what, "Choose another place with -o, or change its owner.")


def _room(out: Path) -> Line:
    try:
        free = shutil.disk_usage(_existing(out)).free
    except OSError as error:
        return Line("room", "unknown", f"can't be told: {error.strerror or error}")
    fact = f"{free / (1 << 30):.1f} GiB free"
    if free >= ENOUGH:
        return Line("room", "ok", fact)
    return Line(
        "room", "wrong", fact, "Make room, choose another place with -o, or end early with --max-size."
    )


def _existing(out: Path) -> Path:
    """The place itself, or the nearest folder above it that exists."""
    place = Path(os.path.realpath(out))
    return next(each for each in (place, *place.parents) if each.exists())
