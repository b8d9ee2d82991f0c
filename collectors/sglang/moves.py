"""KV relocation as the pool carries it out, and the compaction of what belongs to the moved rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from speckv_debug.collectors.around import NOTHING, Around
from speckv_debug.collectors.hooking import Hook, Methods, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.describe import INDEX, components_of, index_keys
from speckv_debug.collectors.sglang.engine import targets_from_window
from speckv_debug.collectors.sglang.families import CHAIN, NGRAM
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.staging import Load, fingerprints, stage_group
from speckv_debug.recording.blocks import Cut

WINDOW = "swa"
LOCATIONS = ("tgt_loc", "src_loc")
FINGERPRINTS = 3
"""The level from which on contents are fingerprinted."""

Kind = tuple[str | None, bool, list[str] | None]
"""A pool's name, whether its mover surely copies through its core, and what a token consists of."""


class MoveHooks:
    """`move_kv_cache` of the target's and the draft's pool; the caller is known from the functions around it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._pool: Any = None
        self._pairs: list[tuple[Any, Any]] = []
        self._window = False
        self._kinds: dict[int, Kind] = {}

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        algorithm = self._scene.engine.algorithm
        if algorithm is None or algorithm in CHAIN:
            return
        self._window = targets_from_window()
        yield targets.MOVE_ACCEPTED, self._called("accept")
        if algorithm != NGRAM:
            yield targets.DRAFT_TAIL, self._called("draft_tail")
            yield targets.COMPACT, self._compact()

    def methods(self) -> Iterator[Methods]:
        for pool in (self._scene.engine.target_pool, *self._scene.engine.draft_pools()):
            move = Around(self.moving, self.moved, self.broke_off, takes=("self", *LOCATIONS))
            yield Methods("move", type(pool), targets.MOVER, move, LOCATIONS)
            if (peers := self._peers_of(pool)) is not None:
                yield Methods("move", type(peers), targets.MOVER, move, LOCATIONS)
            core = Around(self.copying, takes=("self", *LOCATIONS))
            yield Methods("move_core", type(pool), targets.MOVER_CORE, core, LOCATIONS, optional=True)
            if (keys := index_keys(pool)) is not None:
                moves = Around(self.moving_index, takes=("self", *LOCATIONS))
                yield Methods("move_index", type(keys), ("move",), moves, LOCATIONS)

    def _called(self, caller: str) -> Around:
        """Calls of the mover inside the function have a caller."""
        movers = self._scene.activity.movers
        begin, end = partial(_append, movers, caller), partial(_pop, movers)
        return Around(begin, end, end, takes=NOTHING)

    def moving(self, pool: Any, tgt: Any, src: Any) -> tuple[Kind, Any, Any] | None:
        """move_kv_cache(tgt_loc, src_loc): recorded with the pairs that the copy was made with.

        Inside that of a pool with a window's beside it, that of the window's: peers of the pairs, 0 behind the window.
        """
        if self._pool is not None:
            if pool is self._peers_of(self._pool):
                self._emit((WINDOW, False, components_of(pool)), (tgt, src))
            return None
        kind = self._kinds.get(id(pool)) or self._know(pool)
        if kind[0] is None:
            return None
        self._pool, self._pairs = pool, []
        return kind, tgt, src

    def moved(self, told: tuple[Kind, Any, Any] | None, _: Any) -> None:
        """Record the pairs that reached the pool's copying core; where none can be seen there, those that the mover was told."""
        if told is None:
            return
        self._pool, (kind, tgt, src) = None, told
        if self._pairs:
            for pair in self._pairs:
                self._emit(kind, pair)
        elif not kind[1] or not tgt.numel():
            self._emit(kind, (tgt, src))
        else:
            self._scene.journal.emit("note", level="warning", text="a call of the KV mover copied nothing")

    def broke_off(self, told: tuple[Kind, Any, Any] | None) -> None:
        """The mover raised: whatever it copied is recorded."""
        self.moved(told, None)

    def copying(self, copied: Any, tgt: Any, src: Any) -> None:
        """_move_kv_cache_impl(tgt_loc, src_loc), inside `move_kv_cache`; of two pools in one the full one's: its slots count."""
        pool = self._pool
        if pool is not None and (copied is pool or copied is getattr(pool, "full_kv_pool", None)):
            self._pairs.append((tgt, src))

    def moving_index(self, keys: Any, tgt: Any, src: Any) -> None:
        """move(tgt_loc, src_loc) of an indexer's keys, inside `move_kv_cache`: a component of its own."""
        if self._pool is not None and keys is index_keys(self._pool):
            self._emit((self._kinds[id(self._pool)][0], False, [INDEX]), (tgt, src))

    def _peers_of(self, pool: Any) -> Any:
        """The pool of the target's layers with a window, whose slots are peers; None elsewhere."""
        engine = self._scene.engine
        return (
            getattr(pool, "swa_kv_pool", None) if pool is engine.target_pool and engine.has_window else None
        )

    def _know(self, pool: Any) -> Kind:
        name = self._scene.engine.pool_name(pool)
        found = self._kinds[id(pool)] = (name, _has_core(pool), components_of(pool))
        return found

    def _emit(self, kind: Kind, pair: tuple[Any, Any]) -> None:
        """Both lists were made for this call, and nobody writes to them again."""
        load, places = stage_group("move", pair)
        caller = self._scene.activity.movers[-1]
        source = "window" if self._window and caller == "accept" else "table"
        given = (load, places, kind[0], source, kind[2], caller)
        self._scene.journal.defer("move", 1, load, _columns, *given)

    def _compact(self) -> Around:
        """_compact_accept_to_front(x, …): values of predict, one fingerprint a row of hidden states (level 3)."""
        return Around(self.compacting, self.compacted, takes="x")

    def compacting(self, rows: Any) -> Any:
        """What stood there; nothing is written to it afterwards."""
        if rows.ndim > 1 and self._scene.level < FINGERPRINTS:
            return None
        return rows.ndim, rows if rows.ndim == 1 else _marks(rows)

    def compacted(self, state: Any, after: Any) -> None:
        """What stands at the front now."""
        if state is None:
            return
        dimensions, before = state
        name, marks = ("predict", after) if dimensions == 1 else ("hidden_states", _marks(after))
        load, places = stage_group("compact", (before, marks))
        self._scene.journal.defer("compact", 1, load, _compaction, load, places, name)


def _columns(
    load: Load,
    places: Sequence[int],
    name: str,
    source: str,
    components: list[str] | None,
    caller: str,
) -> dict[str, Any]:
    """The columns of one call of a mover, once its lists have arrived."""
    tgt, src = (load.values(place) for place in places)
    return {
        "pool": name,
        "target_source": source,
        "src": Cut(src, len(src)),
        "tgt": Cut(tgt, len(tgt)),
        "components": components,
        "caller": caller,
    }


def _compaction(load: Load, places: Sequence[int], name: str) -> dict[str, Any]:
    """The columns of one compaction, once its values have arrived."""
    before, after = (load.values(place) for place in places)
    return {"tensor": name, "before": Cut(before, len(before)), "after": Cut(after, len(after))}


def _append(stack: list[str], value: str, _: None) -> None:
    stack.append(value)


def _pop(stack: list[str], *_: Any) -> None:
    stack.pop()


def _has_core(pool: Any) -> bool:
    """Whether this pool's mover surely copies through `_move_kv_cache_impl`: the plain K and V pool does."""
    whole = getattr(pool, "layer_num", 1) != 0 and not getattr(pool, "use_hnd", False)
    plain = type(pool).__name__ == "MHATokenToKVPool" and hasattr(type(pool), targets.MOVER_CORE[0])
    return whole and plain


def _marks(tensor: Any) -> Any:
    """One fingerprint a row."""
    return fingerprints(tensor.reshape(tensor.shape[0], -1))
