"""An independent count of what the engine allocates, frees and moves, wrapped around the same functions.

It knows nothing of the collector: plain wrappers, installed before anything else, and a file of their own.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any


class Counter:
    """Slots in the order of the calls; a call inside another of its kind is that one's affair."""

    def __init__(self) -> None:
        self.allocated: list[int] = []
        self.freed: list[int] = []
        self.moves: list[list[list[int]]] = []
        self._depth = {"alloc": 0, "free": 0, "move": 0}

    def install(self) -> None:
        """Wrap allocators and pools; SGLang must be importable."""
        from sglang.srt.mem_cache import allocator, memory_pool

        for cls in (
            allocator.BaseTokenToKVPoolAllocator,
            allocator.TokenToKVPoolAllocator,
            allocator.PagedTokenToKVPoolAllocator,
        ):
            for name in ("alloc", "alloc_extend", "alloc_decode"):
                self._wrap(cls, name, "alloc", self._on_alloc)
            for name in ("free", "free_segment"):
                self._wrap(cls, name, "free", self._on_free)
            self._wrap(cls, "free_group_end", "free", lambda args, kwargs, result: None)
        self._wrap(memory_pool.MHATokenToKVPool, "move_kv_cache", "move", self._on_move)
        self._install_window()

    def _install_window(self) -> None:
        """With a sliding window the full side counts, and who calls it past the allocator of both."""
        try:
            from sglang.srt.mem_cache.allocator.swa import SWATokenToKVPoolAllocator as Both
            from sglang.srt.mem_cache.swa_memory_pool import SWAKVPool
        except ImportError:
            return
        for name in ("alloc", "alloc_extend", "alloc_decode"):
            self._wrap(Both, name, "alloc", self._on_alloc)
        for name in ("free", "free_segment", "free_full", "free_full_segment"):
            self._wrap(Both, name, "free", self._on_free)
        for name in ("free_swa", "free_swa_segment", "free_group_end"):
            self._wrap(Both, name, "free", lambda args, kwargs, result: None)
        self._wrap(SWAKVPool, "move_kv_cache", "move", self._on_move)

    def write(self, path: Path) -> None:
        """Write everything counted as JSON."""
        path.write_text(json.dumps({"allocated": self.allocated, "freed": self.freed, "moves": self.moves}))

    def _wrap(self, cls: type, name: str, kind: str, on_call: Any) -> None:
        function = vars(cls).get(name)
        if function is None:
            return

        @functools.wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            self._depth[kind] += 1
            try:
                result = function(*args, **kwargs)
            finally:
                self._depth[kind] -= 1
            if not self._depth[kind]:
                on_call(args[1:], kwargs, result)
            return result

        setattr(cls, name, counted)

    def _on_alloc(self, args: Any, kwargs: Any, result: Any) -> None:
        if result is not None:
            self.allocated += result.tolist()

    def _on_free(self, args: Any, kwargs: Any, result: Any) -> None:
        self.freed += (args[0] if args else kwargs["free_index"]).tolist()

    def _on_move(self, args: Any, kwargs: Any, result: Any) -> None:
        self.moves.append([args[0].tolist(), args[1].tolist()])
