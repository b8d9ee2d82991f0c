"""A tree that keeps evicted nodes in host memory: what it loads back becomes slots of the device again."""

from __future__ import annotations

from collections.abc import Iterator

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang.activity import Grant
from speckv_debug.collectors.sglang.scene import Scene


class HostCacheHooks:
    """`load_back` of the trees that have it (hierarchical caches)."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield from ()

    def methods(self) -> Iterator[Methods]:
        if self._scene.engine.caches_on_host:
            yield Methods("load_back", type(self._scene.engine.tree), ("load_back",), self.load_back)

    def load_back(self, call: Call) -> Steps:
        """load_back(node, …): evicts if it must, then takes slots that a node of the tree holds from then on."""
        with self._scene.activity.granting(Grant("load_back")):
            yield
