"""What every scope of a process is made from."""

from __future__ import annotations

from abc import ABC, abstractmethod

from speckv_debug.model.process import Process
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns


class Scopes(ABC):
    """Scopes of `ProcessView`, which has the columns that they are made from."""

    process: ProcessRecording

    @property
    @abstractmethod
    def info(self) -> Process:
        """What the process says of itself."""

    @abstractmethod
    def columns(self, table: str) -> Columns:
        """The columns of one event table."""

    @property
    def _from_start(self) -> bool:
        """The recording holds what the process did from its beginning."""
        return self.info.from_start and not self.process.missing_head
