"""What numba keeps is compiled again when a text changes that it comes from, wherever that stands."""

import sys
from pathlib import Path

import pytest

from speckv_debug.replay.compiled_sources import sources_of, with_sources

OUTER = """
from speckv_debug.replay.compiling import compiled
from kept_code.inner import added

@compiled
def outer(number):
    return added(number)
"""
INNER = """
from speckv_debug.replay.compiling import inlined
from kept_code import (
    numbers,
)
from kept_code.numbers import TENS

@inlined
def added(number):
    return number + TENS + numbers.ONES
"""


def run(folder: Path, ones: int, tens: int) -> int:
    """What the compiled function of the package says when it is imported anew."""
    (folder / "numbers.py").write_text(f"ONES, TENS = {ones}, {tens}\n")
    for name in [name for name in sys.modules if name.partition(".")[0] == "kept_code"]:
        del sys.modules[name]
    sources_of.cache_clear()
    from kept_code.outer import outer  # type: ignore[import-not-found]

    found = int(outer(1000))
    assert sum(outer.stats.cache_hits.values()) + sum(outer.stats.cache_misses.values()) == 1
    return found + 1_000_000 * int(sum(outer.stats.cache_hits.values()))


def test_a_constant_two_imports_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of unchanged files is taken from what numba keeps, one of changed files is not."""
    package = tmp_path / "kept_code"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "outer.py").write_text(OUTER)
    (package / "inner.py").write_text(INNER)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    assert run(package, 1, 10) == 1011
    assert run(package, 1, 10) == 1_001_011
    assert run(package, 2, 10) == 1012
    assert run(package, 2, 20) == 1022


def test_a_module_without_a_file() -> None:
    """It has no sources; its function does what it did."""

    def double(number: int, times: int = 2) -> int:
        """Twice."""
        return number * times

    double.__module__ = "nowhere"
    assert with_sources(double)(21) == 42 and with_sources(double).__doc__ == "Twice."
