"""Wrap functions of an engine and put them back: candidates per version, what did not resolve, failures.

A hook is a generator function: what stands before its only `yield` runs before the engine's function,
what stands behind it runs after, and `yield` gives the function's result. The engine's function is
called exactly once, with its own arguments, and its result or exception passes unchanged (the
exception is thrown into the hook at its `yield`, and then raised). A hook that raises on its own is
switched off and reported; the engine never sees it. Hooks of functions that run in every step are an `Around` instead.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from speckv_debug.collectors.around import Around, wrapped
from speckv_debug.collectors.calls import Call

Steps = Generator[None, Any, None]


@dataclass(frozen=True, slots=True)
class Target:
    """What a hook is called and where its function may be, newest first: `module:function` or `module:Class.method`.

    An `optional` function is missing by design in some releases: then nothing is said of it. `parameters`
    are the function's leading ones, without `self`: they name arguments where somebody wrapped the function
    before and hides its signature. `bound_as` is the parameter that is `self` where the candidate is a method.
    """

    name: str
    candidates: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    optional: bool = False
    bound_as: str = "self"


NEVER = (False,)


@dataclass(frozen=True, slots=True)
class Unless:
    """A generator hook that is passed by while the one entry of `holds` is true."""

    hook: Callable[[Call], Steps]
    holds: Sequence[bool]


Hook = Callable[[Call], Steps] | Around | Unless


@dataclass(frozen=True, slots=True)
class Methods:
    """Methods to be wrapped wherever a class of the MRO of `cls` defines them; the rest as in `Target`."""

    name: str
    cls: type
    names: tuple[str, ...]
    hook: Hook
    parameters: tuple[str, ...] = ()
    optional: bool = False


@dataclass(slots=True)
class _Patch:
    """One wrapped function; `importers` are the modules that hold it by name."""

    owner: Any
    attribute: str
    original: Any
    wrapper: Any
    importers: list[tuple[Any, str]] = field(default_factory=list)

    def put(self, new: Any, old: Any) -> None:
        setattr(self.owner, self.attribute, new)
        if not isinstance(self.owner, type):
            self.importers = _repoint_importers(old, new, self.owner)

    def exchange(self, new: Any, old: Any) -> None:
        """As `put`, in the places that are known: cheap."""
        for owner, attribute in ((self.owner, self.attribute), *self.importers):
            if vars(owner).get(attribute) is old:
                setattr(owner, attribute, new)


class Patches:
    """The wrapped functions of one engine process.

    Args:
        failed: Called with a hook's name and the exception after which it was switched off.

    Attributes:
        resolved: Each hook's name and what it resolved to, None if nothing did.
        broken: Names of the hooks that were switched off after a failure.
        silent: Names of the hooks that do nothing any more: these, and all once the patches are undone.
    """

    def __init__(self, failed: Callable[[str, BaseException], None]) -> None:
        self.resolved: dict[str, str | None] = {}
        self.broken: set[str] = set()
        self.silent: set[str] = set()
        self._failed = failed
        self._installed: list[_Patch] = []

    def install(self, target: Target, hook: Hook) -> bool:
        """Wrap the first candidate whose module is loaded; whether there was one."""
        for candidate in target.candidates:
            owner, attribute = _find(candidate)
            parameters = _leading(target, owner)
            if owner is not None and self._wrap(target.name, owner, attribute, hook, parameters):
                self.resolved[target.name] = candidate
                return True
        if not target.optional:
            self.resolved.setdefault(target.name, None)
        return False

    def install_methods(self, methods: Methods) -> bool:
        """Wrap the methods wherever a class of the MRO defines them; whether there was one."""
        found = []
        for owner in methods.cls.__mro__[:-1]:
            for method in methods.names:
                if method in vars(owner) and not _is_wrapped(vars(owner)[method]):
                    self._wrap(methods.name, owner, method, methods.hook, ("self", *methods.parameters))
                if _is_wrapped(vars(owner).get(method)):
                    found.append(f"{owner.__module__}:{owner.__qualname__}.{method}")
        if found or not (methods.optional or methods.name in self.resolved):
            self.resolved[methods.name] = ", ".join(found) or None
        return bool(found)

    def lift(self) -> None:
        """Put the original functions back for a while; `replace` puts the hooks on again."""
        for patch in reversed(self._installed):
            patch.exchange(patch.original, patch.wrapper)

    def replace(self) -> None:
        """Undo a `lift`."""
        for patch in self._installed:
            patch.exchange(patch.wrapper, patch.original)

    def undo(self) -> None:
        """Put the original functions back, last patch first; a function that others wrapped since is only silenced."""
        self.silent.update(self.resolved)
        for patch in reversed(self._installed):
            if vars(patch.owner).get(patch.attribute) is patch.wrapper:
                patch.put(patch.original, patch.wrapper)
        self._installed.clear()

    def _wrap(self, name: str, owner: Any, attribute: str, hook: Hook, leading: tuple[str, ...]) -> bool:
        raw = vars(owner)[attribute]
        function = raw.__func__ if isinstance(raw, (staticmethod, classmethod)) else raw
        if not _can_be_wrapped(function, owner):
            return False
        wrapper: Any = self._wrapper(name, function, hook, _places(function, leading))
        _wrappers.add(wrapper)
        if isinstance(raw, (staticmethod, classmethod)):
            wrapper = type(raw)(wrapper)
        patch = _Patch(owner, attribute, raw, wrapper)
        patch.put(wrapper, raw)
        self._installed.append(patch)
        return True

    def _wrapper(
        self, name: str, function: Callable[..., Any], hook: Hook, places: Mapping[str, int]
    ) -> Callable[..., Any]:
        silent = self.silent
        if isinstance(hook, Around):
            return wrapped(name, function, hook, places, silent, self._switch_off)
        hook, passes = (hook.hook, hook.holds) if isinstance(hook, Unless) else (hook, NEVER)

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if passes[0] or name in silent:
                return function(*args, **kwargs)
            try:  # in line: it runs many times a step
                steps: Steps | None = hook(Call(places, args, kwargs))
                next(steps)  # type: ignore[arg-type]
            except StopIteration:
                steps = None
            except Exception as error:  # noqa: BLE001 (nothing of ours may reach the engine)
                steps = None
                self._switch_off(name, error)
            try:
                result = function(*args, **kwargs)
            except BaseException as error:
                self._abandon(name, steps, error)
                raise
            if steps is not None:
                try:
                    steps.send(result)
                except StopIteration:
                    pass
                except Exception as error:  # noqa: BLE001
                    self._switch_off(name, error)
            return result

        return wrapper

    def _abandon(self, name: str, steps: Steps | None, raised: BaseException) -> None:
        """The engine's function raised: let the hook see it and leave its contexts."""
        if steps is None:
            return
        try:
            steps.throw(raised)
        except StopIteration:
            pass
        except BaseException as error:  # noqa: BLE001
            if error is not raised:
                self._switch_off(name, error)

    def _switch_off(self, name: str, error: BaseException) -> None:
        self.broken.add(name)
        self.silent.add(name)
        try:
            self._failed(name, error)
        except Exception:  # noqa: BLE001 (nor may its report)
            self.silent.update(self.resolved)


_wrappers: weakref.WeakSet[Callable[..., Any]] = weakref.WeakSet()


def _can_be_wrapped(function: Any, owner: Any) -> bool:
    """A Triton kernel loses its launch syntax, and a callable that is no function its way of binding `self`."""
    if isinstance(function, types.FunctionType):
        return function not in _wrappers
    plain = callable(function) and not isinstance(function, type) and not hasattr(function, "__getitem__")
    return plain and not isinstance(owner, type)


def _leading(target: Target, owner: Any) -> tuple[str, ...]:
    """The parameters that come first: of a method `self` by the name that the hook knows it by."""
    if not isinstance(owner, type):
        return target.parameters
    return (target.bound_as, *(name for name in target.parameters if name != target.bound_as))


def _places(function: Any, leading: tuple[str, ...]) -> dict[str, int]:
    """Place of each parameter: as the function names them, and the leading ones that it doesn't."""
    places = {name: place for place, name in enumerate(leading)}
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return places
    return places | {name: place for place, name in enumerate(signature.parameters)}


def _is_wrapped(raw: Any) -> bool:
    function = getattr(raw, "__func__", raw)
    return isinstance(function, types.FunctionType) and function in _wrappers


def _find(candidate: str) -> tuple[Any, str]:
    """Owner and attribute of a candidate in a loaded module; (None, "") if it isn't there."""
    module, _, path = candidate.partition(":")
    owner: Any = sys.modules.get(module)
    *classes, attribute = path.split(".")
    for name in classes:
        owner = vars(owner).get(name) if owner is not None else None
    return (owner, attribute) if owner is not None and attribute in vars(owner) else (None, "")


def find_function(candidate: str) -> Any:
    """The function at a candidate's place in a loaded module, as it stands there now; None if it isn't there."""
    owner, attribute = _find(candidate)
    return None if owner is None else vars(owner)[attribute]


def _repoint_importers(old: Any, new: Any, source: Any) -> list[tuple[Any, str]]:
    """Give `new` to every loaded module that imported `old` by name; those places."""
    places = []
    for module in list(sys.modules.values()):
        if not isinstance(module, types.ModuleType) or module is source:
            continue
        for attribute, value in list(vars(module).items()):
            if value is old:
                setattr(module, attribute, new)
                places.append((module, attribute))
    return places
