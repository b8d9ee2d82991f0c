"""Opening a recording for a command: what the reader found wrong goes to stderr, the rest is used."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from speckv_debug.model.text import printable

if TYPE_CHECKING:
    from speckv_debug.recording.reader import Recording

SHOWN_PROBLEMS = 20


def open_recording(path: Path) -> Recording:
    """Open a recording and print its problems on stderr.

    Raises:
        RecordingError: There is no recording, or a newer version wrote it.
    """
    from speckv_debug.recording.reader import Recording

    recording = Recording.open(path)
    for problem in recording.problems[:SHOWN_PROBLEMS]:
        print(f"speckv-debug: {printable(str(problem))}", file=sys.stderr)
    if (more := len(recording.problems) - SHOWN_PROBLEMS) > 0:
        print(f"speckv-debug: and {more} more; `speckv-debug info` lists all", file=sys.stderr)
    return recording
