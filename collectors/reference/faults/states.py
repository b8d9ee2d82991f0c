"""Faults in what lies beside keys and values: rings of compressor state, recurrent state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from speckv_debug.collectors.reference.batch import Round
from speckv_debug.collectors.reference.compressed import CompressedLayer
from speckv_debug.collectors.reference.engine import Engine
from speckv_debug.collectors.reference.faults.shot import Shot, wrap
from speckv_debug.collectors.reference.model import Addresses, Entries
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.states import States

Clear = Callable[..., None]


def states_of(engine: Engine) -> States:
    """The engine's; the settings of these faults give it some."""
    assert engine.states is not None
    return engine.states


class Victim:
    """A request in whose ring rejected rows were left; the engine goes wrong as it reads them."""

    def __init__(self, engine: Engine, shot: Shot) -> None:
        """Nobody yet; the second suitable occasion makes one."""
        self._engine, self._shot, self._seen = engine, shot, 0
        self.request: Request | None = None
        shot.occasion = 1
        wrap(states_of(engine).c128, "look", self._watched)

    def is_next(self, request: Request, left: range) -> bool:
        """Whether to leave these offsets: a later verify reads behind its root, so that two must be left."""
        gone = self.request is None or self.request.row is None or self.request.ended is not None
        if self._shot.fired or len(left) < 2 or not gone:
            return False
        self._seen += 1
        if self._seen > 1:
            self.request = request
        return self._seen > 1

    def _watched(self, look: Callable[[Tensor, Addresses], Entries]) -> Callable[..., Entries]:
        def watching(x: Tensor, where: Addresses) -> Entries:
            victim = self.request
            if victim and where.block and victim.row in where.block.rows.tolist():
                self._shot.due(self._engine.observer.step, victim.id)
            return look(x, where)

        return watching


def clear_missing(engine: Engine, shot: Shot) -> None:
    """Rejected rows of one verify are not emptied."""
    victim = Victim(engine, shot)

    def around(clear: Clear) -> Clear:
        def faulty(request: Request, start: int, offsets: range, **more: int) -> None:
            if not victim.is_next(request, offsets):
                clear(request, start, offsets, **more)

        return faulty

    wrap(states_of(engine).c128, "clear", around)


def chain_commits_rejected(engine: Engine, shot: Shot) -> None:
    """States of all rows of a verify are written, not those of the accepted prefix."""
    layer, victim = states_of(engine).c128, Victim(engine, shot)

    def around(commit: Callable[..., None]) -> Callable[..., None]:
        def faulty(request: Request, start: int, states: Tensor) -> None:
            whole = _rows_of(layer, request)
            if victim.is_next(request, range(len(states), len(whole))):
                states = whole
            commit(request, start, states)

        return faulty

    wrap(layer, "commit", around)


def _rows_of(layer: CompressedLayer, request: Request) -> Tensor:
    assert layer.looked is not None
    return layer.looked.states[layer.looked.block.rows.tolist().index(request.row)]


def _other_offsets(engine: Engine, shot: Shot, other: Callable[[int, int], range]) -> None:
    """Clear the offsets that `other` makes of accept_len and width."""

    def around(clear: Clear) -> Clear:
        def faulty(request: Request, start: int, offsets: range, *, accept_len: int, width: int) -> None:
            if offsets and shot.due(engine.observer.step, request.id):
                offsets = other(accept_len, width)
            clear(request, start, offsets, accept_len=accept_len, width=width)

        return faulty

    wrap(states_of(engine).c128, "clear", around)


def clear_one_early(engine: Engine, shot: Shot) -> None:
    """From the last accepted row to the last but one of the window."""
    _other_offsets(engine, shot, lambda n, width: range(n - 1, width - 1))


def clear_one_late(engine: Engine, shot: Shot) -> None:
    """From the second rejected row to the one behind the window."""
    _other_offsets(engine, shot, lambda n, width: range(n + 1, width + 1))


def clear_counts_drafts(engine: Engine, shot: Shot) -> None:
    """As many rows are kept as drafts were accepted; the root is one more."""
    _other_offsets(engine, shot, lambda n, width: range(n - 1, width))


def clears_c4(engine: Engine, shot: Shot) -> None:
    """The rejected rows of C4 are emptied too, which it overwrites before it reads them."""
    states = states_of(engine)

    def around(clear: Callable[[Round, list[int]], None]) -> Callable[[Round, list[int]], None]:
        def needless(round_: Round, lens: list[int]) -> None:
            clear(round_, lens)
            width = engine.config.num_draft_tokens
            for request, start, n in zip(round_.requests, round_.starts, lens, strict=True):
                states.c4.clear(request, start, states.rejected(n), accept_len=n, width=width)
                shot.due(engine.observer.step, request.id)

        return needless

    wrap(states, "clear", around)


def recurrent_wrong_row(engine: Engine, shot: Shot) -> None:
    """The state behind the last accepted row but one is kept."""

    def around(steps: Callable[[Tensor, Tensor], list[int]]) -> Callable[[Tensor, Tensor], list[int]]:
        def faulty(index: Tensor, lens: Tensor) -> list[int]:
            kept = steps(index, lens)
            for i, n in enumerate(lens.tolist()):
                if n > 1 and shot.due(engine.observer.step, engine.running[i].id):
                    kept[i] = int(index[i, n - 2]) - i * engine.config.num_draft_tokens
            return kept

        return faulty

    wrap(states_of(engine), "kept_steps", around)


def ring_not_emptied(engine: Engine, shot: Shot) -> None:
    """A row ends and its ring of C128 keeps what the request wrote."""
    layer = states_of(engine).c128

    def around(end: Callable[[Request], None]) -> Callable[[Request], None]:
        def faulty(request: Request) -> None:
            if not shot.due(engine.observer.step, request.id):
                end(request)

        return faulty

    wrap(layer, "end_row", around)


PLANTS: dict[str, Callable[[Engine, Shot], Any]] = {
    "clear-missing": clear_missing,
    "clear-one-early": clear_one_early,
    "clear-one-late": clear_one_late,
    "clear-counts-drafts": clear_counts_drafts,
    "chain-commits-rejected-states": chain_commits_rejected,
    "recurrent-state-of-another-row": recurrent_wrong_row,
    "ring-not-emptied": ring_not_emptied,
    "clears-also-what-is-overwritten": clears_c4,
}
