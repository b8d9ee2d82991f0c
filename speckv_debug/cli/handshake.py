"""Which engine processes reported to a recording, and why none did as far as that can be known."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from speckv_debug.model.text import printable

ALLOW_LIST = "SGLANG_PLUGINS"
PLUGIN = "speckv_debug"
OLDEST = (0, 5, 12)
"""The first SGLang release with the plugin group `sglang.srt.plugins`."""
POLL_S = 0.25
PROBE_S = 30
PROBE = """
import importlib.metadata as metadata, json
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
names = [entry.name for entry in metadata.entry_points(group="sglang.srt.plugins")]
print(json.dumps({"sglang": version("sglang"), "plugins": names}))
"""


@dataclass(frozen=True, slots=True)
class Reported:
    """An engine process that has written its process.json; `hooked` says whether anything is recorded of it."""

    label: str
    engine: str
    hooked: bool

    def __str__(self) -> str:
        return printable(f"{self.engine} ({self.label})")


def reported(out: Path) -> tuple[Reported, ...]:
    """The processes that have reported so far, by label."""
    found = []
    for path in sorted(out.glob("*/process.json")):
        try:
            facts = json.loads(path.read_bytes())
        except (OSError, ValueError):
            facts = None
        found.append(_reported(path.parent, facts if isinstance(facts, dict) else {}))
    return tuple(found)


def _reported(folder: Path, facts: Mapping[str, Any]) -> Reported:
    """A hook that resolved proves that the process was hooked; without any named, as after a failure, only rows do."""
    hooks = facts.get("hooks")
    hooked = any(hooks.values()) if isinstance(hooks, dict) and hooks else _has_rows(folder)
    name = " ".join(str(facts[key]) for key in ("engine", "engine_version") if facts.get(key))
    return Reported(folder.name, name or "an engine", hooked)


def _has_rows(folder: Path) -> bool:
    """Whether there is a part or a spool of a table that holds events of the engine."""
    tables = {path.parent.name for path in folder.glob("*/*.parquet")}
    tables |= {path.stem for path in folder.glob("spool/*.arrows")}
    return bool(tables - {"note", "drop"})


class Announcer:
    """Calls `say` once, in a thread, when the first process has reported; a context manager."""

    def __init__(self, out: Path, say: Callable[[Reported], None]) -> None:
        self._out, self._say = out, say
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(POLL_S):
            if any(self._out.glob("*/process.json")):
                self._say(reported(self._out)[0])
                return


def ended(exit_code: int) -> str:
    """How a target with that exit code ended, 128+n where signal n did it."""
    try:
        name = signal.Signals(exit_code - 128).name
    except ValueError:
        return f"ended with exit code {exit_code}"
    return f"was killed by signal {exit_code - 128} ({name})"


def reasons(command: Sequence[str], environment: Mapping[str, str], exit_code: int) -> list[str]:
    """Why no engine reported: what is certain if anything is, else what may be, one sentence each."""
    certain = [*_allow_list(environment), *_installation(command, environment)]
    if certain:
        return certain
    early = f"The target {ended(exit_code)}, perhaps before its engine started."
    never = "The target may never have started an SGLang scheduler, or builds one itself"
    attach = 'then use speckv_debug.attach("sglang") there'
    return [*([early] if exit_code else []), f"{never} ({attach})."]


def _allow_list(environment: Mapping[str, str]) -> Iterator[str]:
    allowed = environment.get(ALLOW_LIST)
    if allowed and PLUGIN not in [name.strip() for name in allowed.split(",")]:
        names = printable(allowed)
        yield f"{ALLOW_LIST}={names} lists the plugins that SGLang may load and leaves {PLUGIN} out: add it."


def _installation(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[str]:
    python = python_of(command, environment)
    facts = ask_python(python, PROBE, environment, PROBE_S) if python else None
    if python is None or facts is None:
        return
    where = printable(python)
    if not facts["sglang"]:
        yield f"sglang is not among the packages of {where}, the target's Python."
    elif release_numbers(facts["sglang"]) < OLDEST:
        yield (
            f"SGLang {printable(facts['sglang'])} in {where} loads no plugins: "
            f"{'.'.join(map(str, OLDEST))} is the first that does."
        )
    elif PLUGIN not in facts["plugins"]:
        yield f"speckv-debug is not installed in {where}, the target's Python: SGLang can't load its plugin."


def python_of(command: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """The Python that runs the target: the command itself or its script's interpreter, None if unknown."""
    path = shutil.which(command[0], path=environment.get("PATH", os.defpath))
    if path is None:
        return None
    if _is_python(path):
        return path
    try:
        with open(path, "rb") as script:
            first = script.readline(512)
    except OSError:
        return None
    words = first[2:].decode(errors="replace").split() if first.startswith(b"#!") else []
    if words and os.path.basename(words[0]) == "env":
        words = [found for word in words[1:] if (found := shutil.which(word, path=environment.get("PATH")))]
    return words[0] if words and _is_python(words[0]) else None


def _is_python(path: str) -> bool:
    return os.path.basename(path).startswith(("python", "pypy"))


def ask_python(
    python: str, program: str, environment: Mapping[str, str], patience_s: float
) -> dict[str, Any] | None:
    """What a program prints of what is installed for a Python, None if it can't be asked; nothing is recorded meanwhile.

    Args:
        python: The interpreter.
        program: Prints one JSON object with at least `sglang` and `plugins`.
        environment: What the interpreter inherits.
        patience_s: Seconds that it may take.
    """
    quiet = {name: value for name, value in environment.items() if name != "SPECKV_DEBUG_OUT"}
    try:
        ran = subprocess.run(
            [python, "-c", program],
            env=quiet,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience_s,
            check=False,
        )
        facts = json.loads(ran.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return facts if isinstance(facts, dict) and facts.keys() >= {"sglang", "plugins"} else None


def release_numbers(version: str) -> tuple[int, ...]:
    """The first three integers of a release; the oldest that loads plugins if there are none."""
    numbers = []
    for part in version.split(".")[:3]:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers) or OLDEST
