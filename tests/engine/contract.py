"""What the hooks of collectors/sglang expect of the engine's functions, read from the hooks themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from speckv_debug.collectors import hooking
from speckv_debug.collectors.sglang import targets

HOOKS = Path(targets.__file__).parent
CACHE = "sglang.srt.mem_cache"
ALLOCATORS = (
    *(
        f"{CACHE}.allocator.token:TokenToKVPoolAllocator",
        f"{CACHE}.allocator.paged:PagedTokenToKVPoolAllocator",
    ),
    *(f"{CACHE}.allocator:TokenToKVPoolAllocator", f"{CACHE}.allocator:PagedTokenToKVPoolAllocator"),
)
TREES = (f"{CACHE}.unified_radix_cache:UnifiedRadixCache", f"{CACHE}.radix_cache:RadixCache")
POOLS, TABLES = (f"{CACHE}.memory_pool:MHATokenToKVPool",), (f"{CACHE}.memory_pool:ReqToTokenPool",)
METHODS = {
    "allocate": (ALLOCATORS, targets.ALLOCATES),
    "free": (ALLOCATORS, targets.FREES),
    "group_begin": (ALLOCATORS, targets.GROUP_BEGINS),
    "group_end": (ALLOCATORS, targets.GROUP_ENDS),
    "clear": (ALLOCATORS, targets.CLEARS),
    "move": (POOLS, targets.MOVER),
    "row_alloc": (TABLES, ("alloc",)),
    "row_free": (TABLES, ("free",)),
    "row_write": (TABLES, ("write",)),
    "insert": (TREES, ("insert",)),
    "match": (TREES, ("match_prefix",)),
    "evict": (TREES, ("_evict", "evict")),
    "lock": (TREES, ("inc_lock_ref",)),
    "unlock": (TREES, ("dec_lock_ref",)),
    "reset": (TREES, ("reset",)),
    "checkpoint": (TREES, ("checkpoint", "cache_unfinished_req")),
}
"""Hooks that are put on whatever classes the scheduler built: those of a default configuration, and the names."""


@dataclass(frozen=True)
class Expected:
    """A hook: the names of arguments that it can't do without."""

    hook: str
    reads: frozenset[str]


def function_hooks() -> dict[str, Expected]:
    """Of each Target (by its constant's name) what its hook reads, over all classes of hooks."""
    found = {}
    for cls in _classes():
        for node in ast.walk(cls):
            if isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
                target, hook = node.value.elts
                if _is_target(target) and isinstance(hook, ast.Attribute):
                    found[target.attr] = Expected(f"{cls.name}.{hook.attr}", _reads(cls, hook.attr))
    return found


def method_hooks() -> dict[str, Expected]:
    """The same of each `Methods`, by its name."""
    found = {}
    for cls in _classes():
        for node in ast.walk(cls):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == hooking.Methods.__name__:
                name, hook = node.args[0].value, node.args[3]
                found[name] = Expected(f"{cls.name}.{hook.attr}", _reads(cls, hook.attr))
    return found


def _classes() -> Iterator[ast.ClassDef]:
    for path in sorted(HOOKS.glob("*.py")):
        yield from (each for each in ast.parse(path.read_text()).body if isinstance(each, ast.ClassDef))


def _is_target(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "targets"


def _reads(cls: ast.ClassDef, method: str) -> frozenset[str]:
    """Names in `call["name"]`, in the method and in those of its class that it hands the call on to."""
    (function,) = [each for each in cls.body if isinstance(each, ast.FunctionDef) and each.name == method]
    names = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "call":
            names.add(ast.literal_eval(node.slice))
        if isinstance(node, ast.Call) and _hands_on(node):
            names |= _reads(cls, node.func.attr)
    return frozenset(names)


def _hands_on(node: ast.Call) -> bool:
    own = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "self"
    return own and any(getattr(each, "id", "") == "call" for each in node.args)
