"""The host's committed and allocated lengths, after each function that changes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.loop import ResultSteps
from speckv_debug.collectors.sglang.requests import allocated_of, committed_of, is_settled
from speckv_debug.collectors.sglang.scene import Scene


class LengthHooks:
    """Preparation raises the lengths, a verify's result commits; both are host integers."""

    def __init__(self, scene: Scene, results: ResultSteps) -> None:
        self._scene = scene
        self._results = results

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield targets.PREPARE_EXTEND, self.prepare_extend
        yield targets.PREPARE_DECODE, self.prepare_decode
        if self._scene.engine.algorithm is not None:
            yield targets.RESOLVE, self.resolve

    def methods(self) -> Iterator[Methods]:
        yield from ()

    def prepare_extend(self, call: Call) -> Steps:
        """ScheduleBatch.prepare_for_extend()."""
        yield
        for req in call["self"].reqs:
            self._emit(req, "extend")

    def prepare_decode(self, call: Call) -> Steps:
        """ScheduleBatch.prepare_for_decode(): a speculative batch only reserves."""
        yield
        batch = call["self"]
        for req in batch.reqs:
            self._emit(req, "decode" if batch.spec_algorithm.is_none() else "spec_prepare")

    def resolve(self, call: Call) -> Steps:
        """_resolve_spec_v2_tokens(result, batch): a request that has ended or was retracted commits nothing."""
        result, reqs = call["result"], call["batch"].reqs
        before = [None if is_settled(req) else committed_of(req) for req in reqs]
        accepted = result.accept_lens.tolist() if _is_on_host(result.accept_lens) else [None] * len(reqs)
        yield
        step = self._results.step_of(result)
        for req, old, count in zip(reqs, before, accepted, strict=False):
            if old is not None:
                kept = committed_of(req) - old
                self._emit(
                    req, "verify_commit", step, "grammar" if count is not None and kept < count else None
                )

    def _emit(self, req: Any, cause: str, step: int | None = None, cut: str | None = None) -> None:
        lengths = {"committed": committed_of(req), "allocated": allocated_of(req), "cause": cause, "cut": cut}
        place = {} if step is None else {"step": step}
        self._scene.journal.emit(
            "lengths", **place, pool="full", **self._scene.rows.identity(req).columns(), **lengths
        )


def _is_on_host(tensor: Any) -> bool:
    return tensor is not None and tensor.device.type == "cpu"
