"""Faults in the mover's calls and in the compaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from speckv_debug.collectors.reference.batch import Round
from speckv_debug.collectors.reference.engine import Engine
from speckv_debug.collectors.reference.faults.shot import Shot, wrap
from speckv_debug.collectors.reference.verifier import Accepted
from speckv_debug.collectors.reference.window import HybridPool
from speckv_debug.kernels.locate import accepted_pairs

Move = Callable[[Round, Accepted, Tensor], None]
Pairs = tuple[Tensor, Tensor]
Spoil = Callable[[Round, Accepted, Tensor, int, int], Pairs | None]
"""Pairs to pass instead, for a request whose pairs begin at an index; None if it has no occasion."""


def _spoil_pairs(engine: Engine, shot: Shot, spoil: Spoil, *, chunk: int = 256) -> None:
    """Pass the mover what `spoil` makes of the pairs, once."""

    def around(move: Move) -> Move:
        def faulty(round_: Round, accepted: Accepted, out_cache_loc: Tensor) -> None:
            first = 0
            for i, n in enumerate(accepted.lens.tolist()):
                pairs = spoil(round_, accepted, out_cache_loc, i, first)
                first += n
                if pairs and shot.due(engine.observer.step, round_.requests[i].id):
                    engine.pool.move(*pairs, caller="accept", target_source="window", chunk=chunk)
                    return
            move(round_, accepted, out_cache_loc)

        return faulty

    wrap(engine.verifier, "move", around)


def _moved(accepted: Accepted, out_cache_loc: Tensor, i: int) -> list[int]:
    """Which accepted rows of request i are not in place."""
    n, width = int(accepted.lens[i]), out_cache_loc.shape[1]
    return [k for k in range(n) if accepted.index[i, k] != i * width + k]


def direction_swapped(engine: Engine, shot: Shot) -> None:
    """`move(src, tgt)`."""

    def spoil(round_: Round, accepted: Accepted, loc: Tensor, i: int, first: int) -> Pairs | None:
        targets, sources = accepted_pairs(loc, accepted.index, accepted.lens)
        earlier = any(_moved(accepted, loc, j) for j in range(i))
        return (sources, targets) if _moved(accepted, loc, i) and not earlier else None

    _spoil_pairs(engine, shot, spoil)


def source_shifted(engine: Engine, shot: Shot) -> None:
    """The last pair of a request reads the row behind (or before) the accepted one."""

    def spoil(round_: Round, accepted: Accepted, loc: Tensor, i: int, first: int) -> Pairs | None:
        targets, sources = accepted_pairs(loc, accepted.index, accepted.lens)
        if not _moved(accepted, loc, i):
            return None
        k, width = int(accepted.lens[i]) - 1, loc.shape[1]
        local = int(accepted.index[i, k]) - i * width
        sources[first + k] = loc[i, local + 1 if local + 1 < width else local - 1]
        return targets, sources

    _spoil_pairs(engine, shot, spoil)


def target_one_late(engine: Engine, shot: Shot) -> None:
    """The last pair of a request writes one position too far."""

    def spoil(round_: Round, accepted: Accepted, loc: Tensor, i: int, first: int) -> Pairs | None:
        targets, sources = accepted_pairs(loc, accepted.index, accepted.lens)
        n = int(accepted.lens[i])
        if not _moved(accepted, loc, i) or n >= loc.shape[1]:
            return None
        targets[first + n - 1] = loc[i, n]
        return targets, sources

    _spoil_pairs(engine, shot, spoil)


def one_row_short(engine: Engine, shot: Shot) -> None:
    """The list is built from the accepted drafts of a request, one less than its accepted rows."""

    def spoil(round_: Round, accepted: Accepted, loc: Tensor, i: int, first: int) -> Pairs | None:
        lens = accepted.lens.clone()
        lens[i] -= 1
        return accepted_pairs(loc, accepted.index, lens) if _moved(accepted, loc, i) else None

    _spoil_pairs(engine, shot, spoil)


def descending_in_place(engine: Engine, shot: Shot) -> None:
    """A request's pairs run from the last to the first, each read only when its turn comes."""

    def spoil(round_: Round, accepted: Accepted, loc: Tensor, i: int, first: int) -> Pairs | None:
        targets, sources = accepted_pairs(loc, accepted.index, accepted.lens)
        mine = slice(first, first + int(accepted.lens[i]))
        moving = targets[mine] != sources[mine]
        if not set(targets[mine].tolist()) & set(sources[mine][moving].tolist()):
            return None
        targets[mine], sources[mine] = targets[mine].flip(0), sources[mine].flip(0)
        return targets, sources

    _spoil_pairs(engine, shot, spoil, chunk=1)


def _moving(
    engine: Engine, shot: Shot, move_wrongly: Callable[[Move, Round, Accepted, Tensor], None]
) -> None:
    """Move by other means, once, when a row has to be moved."""

    def around(move: Move) -> Move:
        def faulty(round_: Round, accepted: Accepted, out_cache_loc: Tensor) -> None:
            moved = [i for i in range(round_.size) if _moved(accepted, out_cache_loc, i)]
            if moved and shot.due(engine.observer.step, round_.requests[moved[0]].id):
                move_wrongly(move, round_, accepted, out_cache_loc)
            else:
                move(round_, accepted, out_cache_loc)

        return faulty

    wrap(engine.verifier, "move", around)


def values_not_moved(engine: Engine, shot: Shot) -> None:
    """The mover is called for the keys alone."""

    def keys_alone(move: Move, round_: Round, accepted: Accepted, loc: Tensor) -> None:
        pairs = accepted_pairs(loc, accepted.index, accepted.lens)
        engine.pool.move(*pairs, caller="accept", target_source="window", components=("k",))

    _moving(engine, shot, keys_alone)


def values_left_behind(engine: Engine, shot: Shot) -> None:
    """The mover is called for keys and values, and copies the keys."""

    def keys_copied(move: Move, round_: Round, accepted: Accepted, loc: Tensor) -> None:
        copy = engine.pool.copy
        wrap(
            engine.pool,
            "copy",
            lambda _: (
                lambda targets, sources, *, layers, chunk, components: copy(
                    targets, sources, layers=layers, chunk=chunk, components=("k",)
                )
            ),
        )
        move(round_, accepted, loc)
        wrap(engine.pool, "copy", lambda _: copy)

    _moving(engine, shot, keys_copied)


def index_left_behind(engine: Engine, shot: Shot) -> None:
    """The mover is called for keys and values, and nobody moves the indexer's keys."""

    def without_index(move: Move, round_: Round, accepted: Accepted, loc: Tensor) -> None:
        move_index = engine.verifier.move_index
        wrap(engine.verifier, "move_index", lambda _: lambda targets, sources: None)
        move(round_, accepted, loc)
        wrap(engine.verifier, "move_index", lambda _: move_index)

    _moving(engine, shot, without_index)


def window_left_behind(engine: Engine, shot: Shot) -> None:
    """The mover is called for the slots, and nobody moves their peers in the window's pool."""

    def without_peers(move: Move, round_: Round, accepted: Accepted, loc: Tensor) -> None:
        assert isinstance(engine.pool, HybridPool)
        move_window = engine.pool.move_window
        wrap(engine.pool, "move_window", lambda _: lambda layers, pairs, told, *, chunk: None)
        move(round_, accepted, loc)
        wrap(engine.pool, "move_window", lambda _: move_window)

    _moving(engine, shot, without_peers)


def move_missing(engine: Engine, shot: Shot) -> None:
    """The mover is not called."""
    _moving(engine, shot, lambda move, round_, accepted, loc: None)


def _left_in_tree_order(tensor: str) -> Callable[[Engine, Shot], None]:
    """One tensor is left as the verify wrote it."""

    def plant(engine: Engine, shot: Shot) -> None:
        def around(to_front: Callable[..., Tensor]) -> Callable[..., Tensor]:
            def faulty(name: str, x: Tensor, accepted: Accepted) -> Tensor:
                after = to_front(name, x, accepted)
                if name != tensor:
                    return after
                width = engine.config.num_draft_tokens
                for i, n in enumerate(accepted.lens.tolist()):
                    mine = slice(i * width, i * width + n)
                    if not torch.equal(after[mine], x[mine]):
                        return x if shot.due(engine.observer.step, engine.running[i].id) else after
                return after

            return faulty

        wrap(engine.verifier, "to_front", around)

    return plant


PLANTS: dict[str, Callable[[Engine, Shot], Any]] = {
    "move-direction-swapped": direction_swapped,
    "move-source-shifted": source_shifted,
    "move-target-one-late": target_one_late,
    "move-one-row-short": one_row_short,
    "move-missing": move_missing,
    "move-keys-only": values_not_moved,
    "move-leaves-values": values_left_behind,
    "index-left-behind": index_left_behind,
    "window-not-moved": window_left_behind,
    "move-descending-in-place": descending_in_place,
    "hidden-not-compacted": _left_in_tree_order("hidden_states"),
    "predict-left-in-tree-order": _left_in_tree_order("predict"),
}
