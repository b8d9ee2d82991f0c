"""The accepted path that later steps are replayed from."""

from __future__ import annotations

from functools import cached_property

from speckv_debug.replay.ragged import Ragged
from speckv_debug.replay.verifies import VerifyBatch


class ReplayedPaths:
    """One accepted path a verify."""

    def __init__(self, verifies: VerifyBatch) -> None:
        self.verifies = verifies

    @cached_property
    def rows(self) -> Ragged:
        """Local rows, root first; absent where nothing says what was accepted."""
        return self.verifies.path
