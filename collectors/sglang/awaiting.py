"""Act when a module is imported, without importing it."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Sequence


def when_imported(name: str, action: Callable[[], None]) -> None:
    """Call `action` once, right after the module `name` has been executed."""
    sys.meta_path.insert(0, _Watch(name, action))


class _Watch(importlib.abc.MetaPathFinder):
    """Finds nothing itself: it lets the next finders find the module and runs the action behind its loader."""

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self._name, self._action = name, action

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _ActingLoader(spec.loader, self._action)
        return spec


class _ActingLoader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader, action: Callable[[], None]) -> None:
        self._loader, self._action = loader, action

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        self._loader.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._action()
