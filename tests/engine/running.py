"""Runs scenarios in processes of their own, each once a session, two at a time where there are two cores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from scenarios import SCENARIOS, Scenario

from speckv_debug.model.events import Event
from speckv_debug.recording.reader import ProcessRecording, Recording

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
TIMEOUT_S = 900


@dataclass(frozen=True)
class Run:
    """What a scenario left behind."""

    scenario: Scenario
    folder: Path
    exit_code: int
    stderr: str

    @property
    def out(self) -> Path:
        """The recording."""
        return self.folder / "run.speckv"

    @cached_property
    def tokens(self) -> dict[str, list[int]]:
        """Each request's output."""
        return json.loads((self.folder / "tokens.json").read_text())

    @cached_property
    def counted(self) -> dict[str, Any]:
        """The independent count."""
        return json.loads((self.folder / "count.json").read_text())

    @cached_property
    def process(self) -> ProcessRecording:
        """The one recorded process."""
        (process,) = Recording.open(self.out).processes
        return process

    @cached_property
    def events(self) -> list[Event]:
        """All events, in order."""
        return list(self.process.events())

    def of(self, table: str) -> list[Any]:
        """The events of one table."""
        return [event for event in self.events if event.table == table]

    @cached_property
    def report(self) -> dict[str, Any]:
        """What `check --format json` prints, with its exit code."""
        ran = subprocess.run(
            [sys.executable, "-m", "speckv_debug", "check", str(self.out), "--format", "json"],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env=environment(),
            check=False,
        )
        return {"exit_code": ran.returncode, **json.loads(ran.stdout)}


class Runs:
    """Scenarios that have been asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pool = ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1))
        self._asked: dict[str, Future[Run]] = {}

    def prefetch(self, names: Iterable[str]) -> None:
        """Begin scenarios, in this order."""
        for name in names:
            if name not in self._asked:
                self._asked[name] = self._pool.submit(_run, SCENARIOS[name], self._folder / name)

    def __getitem__(self, name: str) -> Run:
        self.prefetch([name])
        return self._asked[name].result()

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(cancel_futures=True)


def _run(scenario: Scenario, folder: Path) -> Run:
    folder.mkdir()
    run = Run(scenario, folder, 0, "")
    command = [sys.executable, str(HERE / "run_sglang.py"), "--sglang", release_folder(scenario.release)]
    command += [*scenario.options(), "--count", str(folder / "count.json")]
    if scenario.name == "attached":
        command += ["--attach", str(run.out)]
    if scenario.recorded:
        command = [sys.executable, "-m", "speckv_debug", "record", "-o", str(run.out), "--", *command]
    variables = environment() | dict(scenario.environment)
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_S, env=variables, check=False
    )
    (folder / "tokens.json").write_text(ran.stdout)
    return Run(scenario, folder, ran.returncode, ran.stderr)


def environment() -> dict[str, str]:
    """This process's, with a cache for compiled modules: SGLang alone has thousands."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(ROOT / ".cache" / "pycache")}


def release_folder(version: str) -> str:
    """The folder into which fetch_sglang.sh unpacked a release: beside this Python's own."""
    return str(Path(sys.prefix) / f"sglang-{version}")
