"""What the hooks of collectors/sglang expect of the engine's functions, read from the hooks themselves."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

from speckv_debug.collectors.around import NOTHING, WHOLE, Around
from speckv_debug.collectors.hooking import Hook, Methods, Target, Unless
from speckv_debug.collectors.sglang import (
    attaching,
    collector,
    families,
    recurrent,
    references,
    rings,
    targets,
)
from speckv_debug.collectors.sglang.lengths import LengthHooks
from speckv_debug.collectors.sglang.loop import LoopHooks, ResultSteps

HOOKS = Path(targets.__file__).parent
CACHE = "sglang.srt.mem_cache"
ALLOCATORS = (
    *(
        f"{CACHE}.allocator.token:TokenToKVPoolAllocator",
        f"{CACHE}.allocator.paged:PagedTokenToKVPoolAllocator",
    ),
    *(f"{CACHE}.allocator:TokenToKVPoolAllocator", f"{CACHE}.allocator:PagedTokenToKVPoolAllocator"),
)
WINDOWED = tuple(
    f"{CACHE}.{module}:SWATokenToKVPoolAllocator" for module in ("allocator.swa", "swa_memory_pool")
)
HOST_TREES = (f"{CACHE}.unified_radix_cache:UnifiedRadixCache", f"{CACHE}.hiradix_cache:HiRadixCache")
TREES = (f"{CACHE}.unified_radix_cache:UnifiedRadixCache", f"{CACHE}.radix_cache:RadixCache")
POOLS, TABLES = (f"{CACHE}.memory_pool:MHATokenToKVPool",), (f"{CACHE}.memory_pool:ReqToTokenPool",)
METHODS = {
    "allocate": (ALLOCATORS, targets.ALLOCATES),
    "free": (ALLOCATORS, targets.FREES),
    "free_inner": (ALLOCATORS, targets.FREES),
    "free_swa": (WINDOWED, targets.FREES_PEERS),
    "swa_set": (WINDOWED, targets.SETS_PEERS),
    "load_back": (HOST_TREES, ("load_back",)),
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
DSV4_POOLS = (f"{CACHE}.deepseek_v4_memory_pool:DeepSeekV4TokenToKVPool",)
NPU = "sglang.srt.hardware_backend.npu"
DSV4_ALLOCATORS = (f"{NPU}.dsv4.dsv4_allocator:DSV4NPUTokenToKVPoolAllocator",)
NPU_PAGES = (f"{NPU}.allocator_npu:NPUPagedTokenToKVPoolAllocator",)
STATE_SLOTS = (f"{CACHE}.allocator.mamba:MambaSlotAllocator", f"{CACHE}.memory_pool:MambaPool")
UNIFIED = tuple(
    f"{CACHE}.{module}:MultiEndedAllocator"
    for module in ("allocator.unified_sub_pool", "multi_ended_allocator")
)
HYBRID = ("sglang.srt.layers.attention.hybrid_linear_attn_backend:HybridLinearAttnBackend",)
COMPRESSED = {
    "state_clear": (15, DSV4_POOLS, rings.CLEARS),
    "state_reset": (15, DSV4_POOLS, rings.RESETS),
    "ref_retain": (18, DSV4_ALLOCATORS, ("retain_c128_pages",)),
    "ref_release": (18, DSV4_ALLOCATORS, ("release_c128_pages",)),
    "ref_replace": (18, DSV4_ALLOCATORS, ("replace_req_c128_prefix",)),
    "sidecar_free": (18, (f"{NPU}.dsv4.dsv4_req_to_token_pool:DSV4ReqToTokenTablesMixin",), ("_dsv4_free",)),
    "c128_alloc": (18, NPU_PAGES, references.ALLOCATES),
    "c128_free": (18, NPU_PAGES, ("free",)),
    "mamba_commit": (14, HYBRID, recurrent.KEEPS),
    "move_index": (18, (f"{CACHE}.index_key_cache:IndexKeyCache",), ("move",)),
    "mamba_alloc": (12, (*STATE_SLOTS, *UNIFIED), ("_do_alloc", "alloc")),
    "mamba_free": (12, (*STATE_SLOTS, *UNIFIED), ("free",)),
}
"""Those of DeepSeek-V4 and of recurrent states, with the first release (0.5.N) that has what they record."""


FAMILIES = (None, *families.KNOWN)


@dataclass(frozen=True)
class Expected:
    """A hook: the names of arguments that it can't do without."""

    hook: str
    reads: frozenset[str]


@cache
def function_hooks() -> dict[Target, Expected]:
    """Each Target that a family's hooks are put on, and what its hook reads."""
    found = {}
    for algorithm, part in [*((each, "null") for each in FAMILIES), (None, "prefill"), (None, "decode")]:
        scene = MagicMock()
        scene.engine.algorithm, scene.engine.bypass, scene.level = algorithm, None, 2
        scene.engine.argument.side_effect = {"disaggregation_mode": part}.get
        results = ResultSteps()
        for group in (LoopHooks(scene, results), LengthHooks(scene, results), *collector._groups(scene)):
            for target, hook in group.functions():
                found[target] = _expected(hook)
    return found


def _expected(hook: Hook) -> Expected:
    """Of a generator, or of the functions that run before and after."""
    hook = hook.hook if isinstance(hook, Unless) else hook
    parts = [hook.before, hook.after] if isinstance(hook, Around) else [hook]
    functions = [each.func if isinstance(each, partial) else each for each in parts if each is not None]
    reads = _named(hook.takes) if isinstance(hook, Around) else set()
    for function in filter(inspect.ismethod, functions):
        reads |= _reads_of(type(function.__self__), function.__name__)
    return Expected(functions[0].__qualname__, frozenset(reads))


def _named(takes: str | tuple[str, ...]) -> set[str]:
    """The parameters that a plain hook is told."""
    return set(takes) if isinstance(takes, tuple) else {takes} - {WHOLE, NOTHING}


def every_target() -> set[Target]:
    """All that stand in a module of the collector; those that wait for a scheduler put themselves away."""
    found = set()
    for module in _modules():
        for value in vars(module).values():
            values = (
                value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
            )
            found |= {each for each in values if isinstance(each, Target)}
    return found - {attaching.CONSTRUCT}


@cache
def method_hooks() -> dict[str, Expected]:
    """The same of each `Methods`, by its name."""
    found = {}
    for cls in _classes():
        for node in ast.walk(cls):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == Methods.__name__:
                found[node.args[0].value] = _written(cls, node.args[3])
    return found


def _written(cls: ast.ClassDef, hook: ast.expr) -> Expected:
    """What a hook's expression says: a method, or an `Around` of methods, perhaps under a name of its own."""
    if isinstance(hook, ast.Name):
        (hook,) = [
            each.value
            for each in ast.walk(cls)
            if isinstance(each, ast.Assign) and getattr(each.targets[0], "id", "") == hook.id
        ]
    methods = [
        each.attr
        for each in ast.walk(hook)
        if isinstance(each, ast.Attribute) and getattr(each.value, "id", "") == "self"
    ]
    takes = (_taken(k.value) for k in getattr(hook, "keywords", ()) if k.arg == "takes")
    reads = frozenset().union(*takes, *(_reads(cls, method) for method in methods))
    return Expected(f"{cls.name}.{methods[0]}", reads)


def _taken(value: ast.expr) -> set[str]:
    """The parameters that `takes` names, by themselves or by a constant of a module of the collector."""
    written = tuple(each.value for each in ast.walk(value) if isinstance(each, ast.Constant))
    for name in (each.id for each in ast.walk(value) if isinstance(each, ast.Name)):
        written += next(vars(module)[name] for module in _modules() if name in vars(module))
    return _named(written if len(written) > 1 else written[0])


def _modules() -> Iterator[ModuleType]:
    for path in sorted(HOOKS.glob("*.py")):
        yield importlib.import_module(f"{collector.__package__}.{path.stem}")


def _classes() -> Iterator[ast.ClassDef]:
    for path in sorted(HOOKS.glob("*.py")):
        yield from (each for each in ast.parse(path.read_text()).body if isinstance(each, ast.ClassDef))


@cache
def _reads_of(cls: type, method: str) -> frozenset[str]:
    cls = next(each for each in cls.__mro__ if method in vars(each))
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(node, ast.ClassDef)
    return _reads(node, method)


def _reads(cls: ast.ClassDef, method: str) -> frozenset[str]:
    """Names in `call["name"]`, in the method and in those of its class that it hands the call on to."""
    (function,) = [each for each in cls.body if isinstance(each, ast.FunctionDef) and each.name == method]
    names = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "call":
            names |= {node.slice.value} if isinstance(node.slice, ast.Constant) else set()
        if isinstance(node, ast.Call) and _hands_on(node):
            names |= _reads(cls, node.func.attr)
    return frozenset(names)


def _hands_on(node: ast.Call) -> bool:
    own = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "self"
    return own and any(getattr(each, "id", "") == "call" for each in node.args)
