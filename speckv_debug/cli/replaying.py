"""The --replay option of check and report, until there is a replay."""

from __future__ import annotations

from speckv_debug.errors import UsageError

REPLAYS = ("off", "on", "only")


def refuse_replay(asked: str | None) -> None:
    """Say so if a replay was asked for.

    Raises:
        UsageError: `on` or `only`.
    """
    if asked in ("on", "only"):
        raise UsageError("this version has no replay yet", "Leave --replay out, or say --replay off.")
