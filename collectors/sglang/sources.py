"""Functions and methods of an unpacked SGLang, found by reading its source: nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
MOST_IMPORTS = 8


@dataclass(frozen=True)
class Found:
    """What stands at a place `module:function` or `module:Class.method`."""

    node: ast.AST
    in_class: bool

    @property
    def is_function(self) -> bool:
        """Whether it can be wrapped: a function, and no Triton kernel."""
        if not isinstance(self.node, ast.FunctionDef):
            return False
        return not any("triton.jit" in ast.unparse(each) for each in self.node.decorator_list)

    @property
    def parameters(self) -> tuple[str, ...]:
        """All names, in order, `self` of a method left out; `*` or `**` stands for whatever else it takes."""
        assert isinstance(self.node, ast.FunctionDef)
        found = self.node.args
        names = [each.arg for each in (*found.posonlyargs, *found.args)][self.in_class :]
        rest = [mark for mark, each in (("*", found.vararg), ("**", found.kwarg)) if each is not None]
        return (*names, *(each.arg for each in found.kwonlyargs), *rest)


class Sources:
    """The package `sglang` inside a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, place: str) -> Found | None:
        """What stands there, through imports by name; a method has to be the class's own."""
        module, _, path = place.partition(":")
        outer, _, method = path.partition(".")
        node = self._named(module, outer)
        if node is None or not method:
            return None if node is None else Found(node, in_class=False)
        inner = _own(node.body, method) if isinstance(node, ast.ClassDef) else None
        return None if inner is None else Found(inner, in_class=True)

    def first_function(self, places: Iterable[str]) -> Found | None:
        """The first of these places that holds something to wrap."""
        found = (self.find(place) for place in places)
        return next((each for each in found if each is not None and each.is_function), None)

    def has_module_of(self, places: Iterable[str]) -> bool:
        """Whether a module of these places exists."""
        return any(_body(self._folder, place.partition(":")[0]) is not None for place in places)

    def inherited(self, place: str) -> Found | None:
        """The same, wherever a class of `Class` and its bases in SGLang defines the method."""
        module, _, path = place.partition(":")
        name, _, method = path.partition(".")
        for body in self._bases(module, name):
            if (node := _own(body, method)) is not None:
                return Found(node, in_class=True)
        return None

    def _bases(self, module: str, name: str) -> Iterator[list[ast.stmt]]:
        home = self._home(module, name)
        if home is None or not isinstance(home[1], ast.ClassDef):
            return
        yield home[1].body
        for base in home[1].bases:
            if isinstance(base, ast.Name):
                yield from self._bases(home[0], base.id)

    def _named(self, module: str, name: str) -> ast.AST | None:
        home = self._home(module, name)
        return None if home is None else home[1]

    def _home(self, module: str, name: str, left: int = MOST_IMPORTS) -> tuple[str, ast.AST] | None:
        """The module that defines a name, and the definition."""
        body = _body(self._folder, module)
        node = _own(body, name) if body is not None else None
        if isinstance(node, ast.ImportFrom):
            if not left:
                return None
            original = next(each.name for each in node.names if (each.asname or each.name) == name)
            return self._home(_absolute(node, module), original, left - 1)
        return None if node is None else (module, node)


def _absolute(node: ast.ImportFrom, module: str) -> str:
    if not node.level:
        return node.module or ""
    package = module.split(".")[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


@lru_cache(maxsize=256)
def _body(folder: Path, module: str) -> list[ast.stmt] | None:
    path = folder.joinpath(*module.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return ast.parse(file.read_text()).body
    return None


def _own(body: list[ast.stmt], name: str) -> ast.AST | None:
    """The statement that binds a name last, inside `if` and `try`, too; definitions go before imports."""
    found = [each for each in _statements(body) if name in _binds(each)]
    defined = [each for each in found if isinstance(each, Named)]
    return (defined or found or [None])[-1]


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for each in body:
        yield each
        if isinstance(each, ast.If | ast.Try):
            for field in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(each, field, []))
            for handler in getattr(each, "handlers", []):
                yield from _statements(handler.body)


def _binds(statement: ast.stmt) -> set[str]:
    if isinstance(statement, Named):
        return {statement.name}
    if isinstance(statement, ast.ImportFrom):
        return {each.asname or each.name for each in statement.names}
    if isinstance(statement, ast.Assign):
        return {each.id for each in statement.targets if isinstance(each, ast.Name)}
    return set()
