"""What a Python program calls: `open_recording` reads, `attach` records."""

from __future__ import annotations

import os
from pathlib import Path

from speckv_debug.recording.reader import Recording

__all__ = ["open_recording"]


def open_recording(path: str | os.PathLike[str]) -> Recording:
    """Open a recording for reading; it is never changed.

    Raises:
        speckv_debug.errors.RecordingError: There is no recording, or a newer version wrote it.
    """
    return Recording.open(Path(path))
