"""The next command leads to the first root cause, in its process."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from speckv_debug.cli.hint import inspect_command
from speckv_debug.model.finding import CheckResult, Finding, Severity
from speckv_debug.recording.reader import Recording

Build = Callable[..., Any]
FIRST = Finding(rule="A", severity=Severity.ERROR, process="tp1", message="", step=6)


@pytest.mark.parametrize(
    ("processes", "findings", "tail"),
    [
        (1, (), ""),
        (1, (FIRST,), " --at 6"),
        (2, (FIRST,), " --at 6 --process tp1"),
        (2, (), ""),
    ],
)
def test_the_command(processes: int, findings: tuple[Finding, ...], tail: str, record: Build) -> None:
    path = record().path
    recording = cast(Recording, SimpleNamespace(processes=(None,) * processes))
    result = CheckResult(findings=findings)
    assert inspect_command(path, recording, result) == f"speckv-debug inspect {path}{tail}"
