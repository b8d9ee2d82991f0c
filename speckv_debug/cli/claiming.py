"""The place of a new recording: what stood there is kept until the new one is sure to replace it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

from speckv_debug.cli.output import claim, clear


class Claim:
    """Sets aside what `-f` allows to replace; brings it back unless the new one is kept or stands at the end.

    An error before `keep` takes the new one away.

    Attributes:
        path: Where the new recording goes; not a link.
        restored: Whether what stood there is back.

    Raises:
        UsageError: The place is taken, see `claim`.
    """

    def __init__(self, path: Path, force: bool) -> None:
        self.path = claim(path, force, kind="folder")
        self._aside = self.path.with_name(f".{self.path.name}.replaced-{os.getpid()}")
        self._kept = False
        self.restored = False

    def __enter__(self) -> Self:
        if os.path.lexists(self.path):
            os.rename(self.path, self._aside)
        return self

    def __exit__(self, error: type[BaseException] | None, *rest: object) -> None:
        if self._kept:
            return
        if error is None and os.path.lexists(self.path):
            self.keep()
            return
        clear(self.path)
        if os.path.lexists(self._aside):
            os.rename(self._aside, self.path)
            self.restored = True

    def keep(self) -> None:
        """The new recording stands: what it replaced is gone for good."""
        if not self._kept:
            self._kept = True
            clear(self._aside)
