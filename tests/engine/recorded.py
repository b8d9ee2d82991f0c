"""Hooks on a single part of the real engine, and a sink that keeps what they record as plain rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any


class Events:
    """Page hooks around one allocator, and those of workers that free each round.

    Attributes:
        rows: Events as plain values, null columns left out.
        failures: Hooks that failed.
    """

    active = True

    def __init__(self, allocator: Any) -> None:
        self.rows: list[dict[str, Any]] = []
        self.failures: list[str] = []
        self._allocator = allocator

    def emit(self, table: str, /, **columns: Any) -> None:
        """Keep one event."""
        plain = {name: _plain(value) for name, value in columns.items() if value is not None}
        self.rows.append({"event": table, **plain})

    def emit_rows(self, table: str, rows: int, columns: dict[str, Any]) -> None:
        """Keep events that were recorded together."""
        from speckv_debug.recording.blocks import Block

        for value in columns.values():
            if hasattr(getattr(value, "values", None), "resolve"):
                value.values = value.values.resolve()
        for row in Block(table, rows, columns).as_rows():
            self.emit(table, **row)

    def defer(
        self, table: str, rows: int, step: int, lane: Any, awaited: Any, make: Any, given: tuple[Any, ...]
    ) -> None:
        """Keep events whose columns are made later: now."""
        from speckv_debug.collectors.staging import send

        send()  # what would wait for further steps
        self.emit_rows(table, rows, {"step": step, "lane": lane, **make(*given)})

    @contextmanager
    def recording(self, algorithm: str | None = None, level: int = 2, **parts: Any) -> Iterator[Any]:
        """All hooks that the allocator's classes, an algorithm and other parts of the engine have, while the block runs.

        Args:
            algorithm: Name in upper case, None without speculation.
            level: How much is recorded.
            parts: More attributes of the engine: `table`, `target_pool`, `target_runner`; with this one alone its hooks alone, with `draft_runners` those of moves.
        """
        from speckv_debug.collectors.hooking import Patches
        from speckv_debug.collectors.sglang.activity import Activity
        from speckv_debug.collectors.sglang.engine import Engine
        from speckv_debug.collectors.sglang.journal import Journal
        from speckv_debug.collectors.sglang.requests import Rows
        from speckv_debug.collectors.sglang.scene import Scene

        engine = object.__new__(Engine)
        engine.allocator = self._allocator
        engine.scheduler = SimpleNamespace(draft_worker=None)
        engine.args = SimpleNamespace(speculative_algorithm=algorithm)
        engine.target_runner = SimpleNamespace()
        for name, part in parts.items():
            setattr(engine, name, part)
        scene = Scene(engine, Journal(self), Activity(), Rows(), level=level)
        scene.journal.bound = True
        patches = Patches(lambda name, error: self.failures.append(f"{name}: {error!r}"))
        for group in _groups(scene, parts):
            for target, hook in group.functions():
                patches.install(target, hook)
            for methods in group.methods():
                patches.install_methods(methods)
        try:
            yield scene
        finally:
            patches.undo()


def _groups(scene: Any, parts: dict[str, Any]) -> Iterator[Any]:
    from speckv_debug.collectors.sglang.pages import PageHooks
    from speckv_debug.collectors.sglang.v1_workers import V1Hooks

    if "target_runner" in parts and "target_pool" not in parts:
        from speckv_debug.collectors.sglang.recurrent import RecurrentHooks

        yield RecurrentHooks(scene)
        return
    if "draft_runners" in parts:
        from speckv_debug.collectors.sglang.moves import MoveHooks

        yield MoveHooks(scene)
        return
    yield V1Hooks(scene)
    yield PageHooks(scene)
    if "tree" in parts:
        from speckv_debug.collectors.sglang.cache import CacheHooks
        from speckv_debug.collectors.sglang.recurrent_slots import RecurrentSlotHooks

        yield RecurrentSlotHooks(scene)
        yield CacheHooks(scene)
    if "target_pool" in parts:
        from speckv_debug.collectors.sglang.compressors import CompressorHooks
        from speckv_debug.collectors.sglang.references import ReferenceHooks
        from speckv_debug.collectors.sglang.rings import RingHooks
        from speckv_debug.collectors.sglang.table import TableHooks

        yield ReferenceHooks(scene)
        yield RingHooks(scene)
        yield CompressorHooks(scene)
        yield TableHooks(scene)


def _plain(value: Any) -> Any:
    value = value.resolve() if hasattr(value, "resolve") else value
    return value.tolist() if hasattr(value, "tolist") else value
