"""The host's committed and allocated lengths, after each function that changes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.loop import ResultSteps
from speckv_debug.collectors.sglang.requests import (
    Identity,
    allocated_of,
    committed_of,
    is_settled,
    request_id,
    row_of,
)
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
        """_resolve_spec_v2_tokens(result, batch): a request that has ended or was retracted should commit nothing.

        If it does, that is said of the row in which the result was launched.
        """
        result, reqs = call["result"], call["batch"].reqs
        before = [(committed_of(req), is_settled(req)) for req in reqs]
        accepted = result.accept_lens.tolist() if _is_on_host(result.accept_lens) else [None] * len(reqs)
        resolved = yield
        step = self._results.step_of(result)
        kept_by_grammar = getattr(result, "grammar_retained_tokens", None) or resolved or ()
        for index, (req, (old, settled), count) in enumerate(zip(reqs, before, accepted, strict=False)):
            kept = committed_of(req) - old
            if not settled or kept:
                legal = kept_by_grammar[index] if index < len(kept_by_grammar) else None
                whose = self._results.launched_as(result, request_id(req))
                self._emit(req, "verify_commit", step, _cut(req, kept, count, legal), whose)

    def _emit(
        self,
        req: Any,
        cause: str,
        step: int | None = None,
        cut: str | None = None,
        whose: Identity | None = None,
    ) -> None:
        """A request that gave its row back has no allocated length; `whose` names the row that it had."""
        allocated = None if row_of(req) is None else allocated_of(req)
        lengths = {"committed": committed_of(req), "allocated": allocated, "cause": cause, "cut": cut}
        place = {} if step is None else {"step": step}
        who = (whose or self._scene.rows.identity(req)).columns()
        self._scene.journal.emit("lengths", **place, pool="full", **who, **lengths)


def _cut(req: Any, kept: int, accepted: int | None, legal: Sequence[int] | None) -> str | None:
    """`grammar` where exactly the tokens are kept that the request's own grammar let pass, and those are fewer.

    0.5.23 hands them over as `result.grammar_retained_tokens`, 0.5.15 only returns them. A stop cuts nothing here:
    the engine commits whole verifies.
    """
    if getattr(req, "grammar", None) is None or legal is None or accepted is None:
        return None
    return "grammar" if kept == len(legal) < accepted else None


def _is_on_host(tensor: Any) -> bool:
    return tensor is not None and tensor.device.type == "cpu"
