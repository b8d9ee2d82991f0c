"""Act when a module is imported, without importing it."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import logging
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

log = logging.getLogger("speckv_debug")


def when_imported(name: str, action: Callable[[], None]) -> None:
    """Call `action` once, right after the module `name` has been executed; what it raises is only logged."""
    sys.meta_path.insert(0, _Watch(name, action))


class _Watch(importlib.abc.MetaPathFinder):
    """Finds nothing itself: it lets the other finders find the module and runs the action behind its loader.

    It stays until the module has been executed: a look-up alone, or an import that fails, is not yet that.
    """

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self._name, self._action = name, action

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        for finder in [other for other in sys.meta_path if not isinstance(other, _Watch)]:
            find = getattr(finder, "find_spec", None)
            spec: importlib.machinery.ModuleSpec | None = find(fullname, path, target) if find else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _ActingLoader(spec.loader, self)
                return spec
        return None

    def act(self) -> None:
        """The module has been executed."""
        if self not in sys.meta_path:
            return
        sys.meta_path.remove(self)
        try:
            self._action()
        except Exception:
            log.exception("speckv-debug: recording could not begin")


class _ActingLoader(importlib.abc.Loader):
    """The module's own loader in everything but `exec_module`."""

    def __init__(self, loader: Any, watch: _Watch) -> None:
        self._loader, self._watch = loader, watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        made: types.ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: types.ModuleType) -> None:
        self._loader.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._watch.act()
