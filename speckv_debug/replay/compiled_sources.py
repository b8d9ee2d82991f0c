"""Which texts compiled code comes from: numba keeps it until one file changes, that of the function that was called.

What that function calls becomes part of it, and so do the constants that it names, wherever they stand. So each function
that numba keeps also has the digest of all these texts in a cell of its closure, which numba asks for too.
"""

from __future__ import annotations

import functools
import hashlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, TypeVar, cast

Call = TypeVar("Call", bound=Callable[..., Any])
IMPORTED, MEMBER = re.compile(r"^from ([\w.]+) import (\([^)]*\)|.*)", re.MULTILINE), re.compile(r"\w+")
COMPILER = "speckv_debug.replay.compiling"


def with_sources(function: Call) -> Call:
    """The same function; what numba keeps of it holds as long as every text does that it comes from."""
    made: Any = function
    code = made.__code__.replace(co_freevars=("sources",))
    cells = (CellType(sources_of(made.__module__)),)
    same = FunctionType(code, made.__globals__, made.__name__, made.__defaults__, cells)
    return cast(Call, functools.update_wrapper(same, made))


@functools.cache
def sources_of(module: str) -> str:
    """SHA-256 of the texts that compiled code of a loaded module comes from; of no text if it has no file."""
    names = sorted(_modules(module, set())) if _has_file(module) else ()
    return hashlib.sha256("\0".join(f"{name}\0{_text(name)}" for name in names).encode()).hexdigest()


def _modules(module: str, found: set[str]) -> set[str]:
    """The module and what it imports of its own package; of these, those with compiled code in the same way."""
    found.add(module)
    imported = _imported(module)
    for name in imported - found if COMPILER in imported else ():
        _modules(name, found)
    return found


def _imported(module: str) -> set[str]:
    """Modules of this package, or of the module's own, that it imports, or imports something from."""
    packages = ("speckv_debug", module.partition(".")[0])
    sources = [(source, MEMBER.findall(members)) for source, members in IMPORTED.findall(_text(module))]
    names = {source for source, _ in sources} | {
        f"{source}.{each}" for source, them in sources for each in them
    }
    return {name for name in names if name.partition(".")[0] in packages and _has_file(name)}


def _has_file(name: str) -> bool:
    """A module that is loaded from a file."""
    return getattr(sys.modules.get(name), "__file__", None) is not None


def _text(module: str) -> str:
    """The text of a loaded module."""
    return Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8")
