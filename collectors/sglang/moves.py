"""KV relocation as the pool carries it out, and the compaction of what belongs to the moved rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.describe import components_of
from speckv_debug.collectors.sglang.engine import targets_from_window
from speckv_debug.collectors.sglang.families import CHAIN, NGRAM
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.staging import Staged, fingerprints, stage, stage_settled

Pairs = tuple[Staged, Staged]
LOCATIONS = ("tgt_loc", "src_loc")
FINGERPRINTS = 3
"""The level from which on contents are fingerprinted."""


@dataclass(slots=True)
class _Passage:
    """One call of a pool's mover and the pairs that reached its copying core."""

    reached: list[Pairs] = field(default_factory=list)


class MoveHooks:
    """`move_kv_cache` of the target's and the draft's pool; the caller is known from the functions around it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._passage: _Passage | None = None

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        algorithm = self._scene.engine.algorithm
        if algorithm is None or algorithm in CHAIN:
            return
        yield targets.MOVE_ACCEPTED, self.move_accepted
        if algorithm != NGRAM:
            yield targets.DRAFT_TAIL, self.draft_tail
            yield targets.COMPACT, self.compact

    def methods(self) -> Iterator[Methods]:
        for pool in (self._scene.engine.target_pool, *self._scene.engine.draft_pools()):
            yield Methods("move", type(pool), targets.MOVER, self.move, LOCATIONS)
            yield Methods(
                "move_core", type(pool), targets.MOVER_CORE, self.move_core, LOCATIONS, optional=True
            )

    def move_accepted(self, call: Call) -> Steps:
        with self._scene.activity.moving("accept"):
            yield

    def draft_tail(self, call: Call) -> Steps:
        with self._scene.activity.moving("draft_tail"):
            yield

    def move(self, call: Call) -> Steps:
        """move_kv_cache(tgt_loc, src_loc): recorded with the pairs that the copy was made with."""
        pool, name = call["self"], self._scene.engine.pool_name(call["self"])
        if name is None or self._passage is not None:
            yield
            return
        self._passage = _Passage()
        try:
            yield
        finally:
            passage, self._passage = self._passage, None
        if passage.reached or not _has_core(pool) or not call["tgt_loc"].numel():
            self._emit(pool, name, passage.reached or [_pair(call)])
        else:
            self._scene.journal.emit("note", level="warning", text="a call of the KV mover copied nothing")

    def move_core(self, call: Call) -> Steps:
        """_move_kv_cache_impl(tgt_loc, src_loc), inside `move_kv_cache`."""
        if self._passage is not None:
            self._passage.reached.append(_pair(call))
        yield

    def _emit(self, pool: Any, name: str, pairs: list[Pairs]) -> None:
        caller = self._scene.activity.mover
        window = caller == "accept" and targets_from_window()
        for tgt, src in pairs:
            self._scene.journal.emit(
                "move",
                pool=name,
                target_source="window" if window else "table",
                src=src,
                tgt=tgt,
                components=components_of(pool),
                caller=caller,
            )

    def compact(self, call: Call) -> Steps:
        """_compact_accept_to_front(x, …): values of predict, one fingerprint a row of hidden states (level 3)."""
        rows = call["x"]
        if rows.ndim > 1 and self._scene.level < FINGERPRINTS:
            yield
            return
        before = _rows_of(rows)
        after = yield
        name = "predict" if rows.ndim == 1 else "hidden_states"
        self._scene.journal.emit("compact", tensor=name, before=before, after=_rows_of(after))


def _pair(call: Call) -> Pairs:
    """Both lists were made for this call, and nobody writes to them again."""
    tgt, src = stage_settled((call["tgt_loc"], call["src_loc"]))
    assert tgt is not None and src is not None
    return tgt, src


def _has_core(pool: Any) -> bool:
    """Whether this pool's mover surely copies through `_move_kv_cache_impl`: the plain K and V pool does."""
    whole = getattr(pool, "layer_num", 1) != 0 and not getattr(pool, "use_hnd", False)
    plain = type(pool).__name__ == "MHATokenToKVPool" and hasattr(type(pool), targets.MOVER_CORE[0])
    return whole and plain


def _rows_of(tensor: Any) -> Staged:
    """Values of a flat tensor, one fingerprint a row of anything wider."""
    if tensor.ndim == 1:
        return stage(tensor, settled=True)
    return stage(fingerprints(tensor.reshape(tensor.shape[0], -1)), settled=True)
