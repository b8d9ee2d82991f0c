"""The host's committed and allocated lengths, after each function that changes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.loop import ResultSteps
from speckv_debug.collectors.sglang.requests import (
    Batch,
    allocated_of_all,
    committed_of_all,
    ids_of,
    is_settled,
    nobody_has,
    rows_of,
)
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.recording.blocks import Each


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
        self._emit(call["self"].reqs, "extend")

    def prepare_decode(self, call: Call) -> Steps:
        """ScheduleBatch.prepare_for_decode(): a speculative batch only reserves."""
        yield
        batch = call["self"]
        self._emit(batch.reqs, "decode" if batch.spec_algorithm.is_none() else "spec_prepare")

    def resolve(self, call: Call) -> Steps:
        """_resolve_spec_v2_tokens(result, batch): a request that has ended or was retracted should commit nothing.

        If it does, that is said of the row in which the result was launched.
        """
        result, reqs = call["result"], call["batch"].reqs
        before = committed_of_all(reqs)
        resolved = yield
        now = committed_of_all(reqs)
        told = [i for i, old in enumerate(before) if now[i] != old or not is_settled(reqs[i])]
        kept = [new - old for new, old in zip(now, before, strict=True)]
        whole = len(told) == len(reqs)
        self._emit(
            reqs if whole else [reqs[i] for i in told],
            "verify_commit",
            step=self._results.step_of(result),
            committed=now if whole else [now[i] for i in told],
            cut=_cuts(reqs, told, kept, result, resolved),
            whose=self._launched(result, reqs).pick(told),
        )

    def _launched(self, result: Any, reqs: Sequence[Any]) -> Batch:
        """The requests in the rows in which the result was launched, where that is known."""
        launched, ids = self._results.batch_of(result), ids_of(reqs)
        if launched is not None and launched.requests == ids:
            return launched
        found = (self._results.launched_as(result, each) for each in ids)
        return Batch.of([who or self._scene.rows.identity(req) for who, req in zip(found, reqs, strict=True)])

    def _emit(
        self,
        reqs: Sequence[Any],
        cause: str,
        *,
        step: int | None = None,
        committed: list[int] | None = None,
        cut: list[str | None] | None = None,
        whose: Batch | None = None,
    ) -> None:
        """A request that gave its row back has no allocated length; `whose` names the rows that they had."""
        allocated: list[Any] = allocated_of_all(reqs)
        if None in (rows := rows_of(reqs)):
            allocated = [None if row is None else length for row, length in zip(rows, allocated, strict=True)]
        who = self._scene.rows.batch(reqs) if whose is None else whose
        self._scene.journal.emit_rows(
            "lengths",
            len(reqs),
            **({} if step is None else {"step": step}),
            pool="full",
            **who.columns(),
            committed=Each(committed_of_all(reqs) if committed is None else committed),
            allocated=Each(allocated),
            cause=cause,
            cut=None if cut is None else Each(cut),
        )


def _counts(result: Any, places: Sequence[int]) -> list[int | None]:
    """Rows that the verify accepted for each, where the host knows them."""
    if not _is_on_host(result.accept_lens):
        return [None] * len(places)
    counts = result.accept_lens.tolist()
    return [counts[place] if place < len(counts) else None for place in places]


def _legal(result: Any, resolved: Any, places: Sequence[int]) -> list[Sequence[int] | None]:
    """Tokens that each request's grammar let pass: a field of the result (0.5.23), or what was returned (0.5.15)."""
    kept = getattr(result, "grammar_retained_tokens", None) or resolved or ()
    return [kept[place] if place < len(kept) else None for place in places]


def _cuts(
    reqs: Sequence[Any], told: Sequence[int], kept: Sequence[int], result: Any, resolved: Any
) -> list[str | None] | None:
    """Why fewer tokens than accepted were kept, of those told of; None if nobody has a grammar."""
    if nobody_has(reqs, "grammar"):
        return None
    cases = zip(told, _counts(result, told), _legal(result, resolved, told), strict=True)
    return [_cut(reqs[i], kept[i], count, tokens) for i, count, tokens in cases]


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
