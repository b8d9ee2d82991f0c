"""Where the inspector can't be drawn it says so, and never begins."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

from speckv_debug.cli import inspect
from speckv_debug.errors import UsageError


@pytest.mark.parametrize("term", ["dumb", "", None])
def test_a_terminal_that_cannot_be_drawn_on_is_refused(
    term: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.delenv("TERM", raising=False)
    if term is not None:
        monkeypatch.setenv("TERM", term)
    with pytest.raises(UsageError, match="TERM is dumb or not set") as refused:
        inspect.run(argparse.Namespace(recording=Path("run.speckv")))
    assert "speckv-debug check run.speckv" in refused.value.remedy
