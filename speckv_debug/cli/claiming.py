"""The place of a new recording: what stood there is kept until the new one is sure to replace it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

from speckv_debug.cli.output import claim, clear


class Claim:
    """Sets aside what `-f` allows to replace; brings it back if the block ends in an error before `keep`.

    Raises:
        UsageError: The place is taken, see `claim`.
    """

    def __init__(self, path: Path, force: bool) -> None:
        self._path = claim(path, force, kind="folder")
        self._aside = path.with_name(f".{path.name}.replaced-{os.getpid()}")
        self._kept = False

    def __enter__(self) -> Self:
        if os.path.lexists(self._path):
            os.rename(self._path, self._aside)
        return self

    def __exit__(self, error: type[BaseException] | None, *rest: object) -> None:
        if error is None or self._kept:
            return
        clear(self._path)
        if os.path.lexists(self._aside):
            os.rename(self._aside, self._path)

    def keep(self) -> None:
        """The new recording stands: what it replaced is gone for good."""
        self._kept = True
        clear(self._aside)
