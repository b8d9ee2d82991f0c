"""What a Python program calls: `open_recording` reads, `attach` records."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from speckv_debug.errors import UsageError
from speckv_debug.recording.reader import Recording

if TYPE_CHECKING:
    from speckv_debug.collectors.base import Collector

__all__ = ["Attachment", "attach", "open_recording"]


def open_recording(path: str | os.PathLike[str]) -> Recording:
    """Open a recording for reading; it is never changed.

    Raises:
        speckv_debug.errors.RecordingError: There is no recording, or a newer version wrote it.
    """
    return Recording.open(Path(path))


class Attachment:
    """An engine that is being recorded; a context manager that ends the recording."""

    def __init__(self, collector: Collector, out: Path) -> None:
        self._collector = collector
        self.out = out

    def detach(self) -> None:
        """Put the engine's functions back and close the recording; may be called again."""
        self._collector.detach()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.detach()


def attach(engine: str, out: str | os.PathLike[str] | None = None) -> Attachment:
    """Record the engine that this process builds itself: `with attach("sglang", out="x.speckv"): ...`.

    Call it before the engine is built; an SGLang scheduler that runs already is recorded from its next batch
    on, and what it had allocated by then has no known owner.

    Args:
        engine: Name of the engine.
        out: The recording; under `speckv-debug record` it is the one that the command writes.

    Raises:
        speckv_debug.errors.UsageError: There is no such engine here, or no recording to write.
    """
    chosen = os.environ.get("SPECKV_DEBUG_OUT") or out
    if not chosen:
        raise UsageError("no recording to write", 'Pass out="x.speckv", or run under speckv-debug record.')
    try:
        plugin = importlib.import_module(f"speckv_debug.collectors.{engine}.plugin")
        return Attachment(plugin.attach(Path(chosen)), Path(chosen))
    except ImportError as error:
        raise UsageError(
            f"{engine} can't be recorded in this process: {error}", "Install the engine, or check its name."
        ) from error
