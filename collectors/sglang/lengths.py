"""The host's committed and allocated lengths, after each function that changes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from operator import eq
from typing import Any

from speckv_debug.collectors.around import Around
from speckv_debug.collectors.hooking import Hook, Methods, Target, find_function
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.journal import PREPARE
from speckv_debug.collectors.sglang.length_columns import length_columns, reserve_columns
from speckv_debug.collectors.sglang.levels import tells_reserves_late
from speckv_debug.collectors.sglang.loop import ResultSteps
from speckv_debug.collectors.sglang.requests import (
    Batch,
    committed_now,
    evicted_of_all,
    ids_of,
    is_settled,
    lengths_of_all,
    nobody_has,
    rows_now,
)
from speckv_debug.collectors.sglang.scene import Scene


class LengthHooks:
    """Preparation raises the lengths, a verify's result commits; both are host integers.

    Where nothing between is recorded, a speculative reserve is told with the preparation it is made in.
    """

    def __init__(self, scene: Scene, results: ResultSteps) -> None:
        self._scene = scene
        self._results = results
        self._tells = tells_reserves_late(scene.level, scene.engine.algorithm)
        self._reserve = reserve_function() if self._tells else None
        self._evicts = scene.engine.has_window

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield (
            targets.PREPARE_EXTEND,
            Around(self.preparing, self.prepared_extend, self.broke_off, takes="self"),
        )
        yield (
            targets.PREPARE_DECODE,
            Around(self.preparing, self.prepared_decode, self.broke_off, takes="self"),
        )
        if self._scene.engine.algorithm is not None:
            yield targets.RESOLVE, Around(self.resolving, self.resolved, takes=("result", "batch"))

    def methods(self) -> Iterator[Methods]:
        yield from ()

    def preparing(self, batch: Any) -> tuple[Any, Any]:
        """ScheduleBatch.prepare_for_extend(), prepare_for_decode()."""
        state = batch, lengths_of_all(batch.reqs) if self._tells else None
        self._scene.journal.phases.append(PREPARE)
        return state

    def broke_off(self, _: Any) -> None:
        """The engine raised."""
        self._scene.journal.phases.pop()

    def prepared_extend(self, state: tuple[Any, Any], _: Any) -> None:
        """Behind it, rows and lengths are those of the extend."""
        try:
            self._emit(state[0].reqs, "extend")
        finally:
            self._scene.journal.phases.pop()

    def prepared_decode(self, state: tuple[Any, Any], _: Any) -> None:
        """A speculative batch only reserves."""
        batch, before = state
        try:
            if before is not None and not batch.spec_algorithm.is_none():
                self._tell_reserve(batch.reqs, before)
            else:
                self._emit(batch.reqs, "decode" if batch.spec_algorithm.is_none() else "spec_prepare")
        finally:
            self._scene.journal.phases.pop()

    def _tell_reserve(self, reqs: Sequence[Any], before: tuple[list[Any], list[Any]]) -> None:
        """The decision and what it led to."""
        scene, count, after = self._scene, len(reqs), lengths_of_all(reqs)
        who, reserve = scene.rows.batch(reqs), None if self._reserve is None else self._reserve()
        given = (who, before, after[1], reserve, scene.engine.page_size)
        scene.journal.defer("reserve", count, None, reserve_columns, *given)
        told = (who, who.rows, after, "spec_prepare", None, None, self._evicted(reqs))
        scene.journal.defer("lengths", count, None, length_columns, *told)

    def resolving(self, result: Any, batch: Any) -> tuple[Any, Any, Any, list[Any]]:
        """_resolve_spec_v2_tokens(result, batch): a request that has ended or was retracted should commit nothing.

        If it does, that is said of the row in which the result was launched.
        """
        reqs = batch.reqs
        return result, batch, reqs, committed_now(reqs)

    def resolved(self, state: tuple[Any, Any, Any, list[Any]], resolved: Any) -> None:
        """Behind it, the verify's result is committed."""
        result, batch, reqs, before = state
        now = lengths_of_all(reqs)
        told = None
        if True in map(eq, before, now[0]):
            told = [i for i, old in enumerate(before) if now[0][i] != old or not is_settled(reqs[i])]
        step, launched = self._results.launch_of(result)
        if launched is not None and launched is self._scene.rows.batch(reqs):
            rows: Sequence[int | None] = launched.rows
        else:
            launched, rows = self._launched(launched, result, reqs), rows_now(reqs)
        cuts = None
        if getattr(batch, "has_grammar", True) and not nobody_has(reqs, "grammar"):
            kept = [int(new or 0) - int(old or 0) for new, old in zip(now[0], before, strict=True)]
            cuts = _cuts(reqs, kept, result, resolved)
        count = len(reqs) if told is None else len(told)
        given = (launched, rows, now, "verify_commit", cuts, told, self._evicted(reqs))
        self._scene.journal.defer("lengths", count, None, length_columns, *given, step=step)

    def _launched(self, launched: Batch | None, result: Any, reqs: Sequence[Any]) -> Batch:
        """The requests in the rows in which the result was launched, where that is known."""
        ids = ids_of(reqs)
        if launched is not None and launched.requests == ids:
            return launched
        found = (self._results.launched_as(result, each) for each in ids)
        return Batch.of([who or self._scene.rows.identity(req) for who, req in zip(found, reqs, strict=True)])

    def _emit(self, reqs: Sequence[Any], cause: str) -> None:
        who = self._scene.rows.batch(reqs)
        given = (who, who.rows, lengths_of_all(reqs), cause, None, None, self._evicted(reqs))
        self._scene.journal.defer("lengths", len(reqs), None, length_columns, *given)

    def _evicted(self, reqs: Sequence[Any]) -> list[int | None] | None:
        """How far each has given up its slots behind the window, None for a model without one."""
        return evicted_of_all(reqs) if self._evicts else None


def reserve_function() -> Callable[[], Any] | None:
    """get_alloc_reserve_per_decode, None if this release has none."""
    found = (find_function(place) for place in targets.RESERVE.candidates)
    return next((each for each in found if each is not None), None)


def _cuts(reqs: Sequence[Any], kept: Sequence[int], result: Any, resolved: Any) -> list[str | None]:
    """Why fewer tokens than accepted were kept.

    The tokens that each request's grammar let pass are a field of the result (0.5.23), or what was returned (0.5.15).
    """
    counts = result.accept_lens.tolist() if _is_on_host(result.accept_lens) else ()
    legal = getattr(result, "grammar_retained_tokens", None) or resolved or ()
    cases = zip_longest(reqs, kept, counts[: len(reqs)], legal[: len(reqs)])
    return [_cut(*case) for case in cases]


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
