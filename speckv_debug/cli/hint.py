"""The command that shows what a check found first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from speckv_debug.cli.output import typed
from speckv_debug.model.causes import root_causes, worst_first

if TYPE_CHECKING:
    from speckv_debug.model.finding import CheckResult
    from speckv_debug.recording.reader import Recording


def inspect_command(path: Path, recording: Recording, result: CheckResult) -> str:
    """Such as `speckv-debug inspect run.speckv --at 6`; with the process where the recording has several.

    The step is that of the first root cause among the worst.
    """
    roots = (root.finding for root in worst_first(root_causes(result.findings)))
    first = next((finding for finding in roots if finding.step is not None), None)
    if first is None:
        return f"speckv-debug inspect {typed(path)}"
    of = f" --process {typed(Path(first.process))}" if len(recording.processes) > 1 else ""
    return f"speckv-debug inspect {typed(path)} --at {first.step}{of}"
