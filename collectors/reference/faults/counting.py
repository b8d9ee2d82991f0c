"""Faults in pages that are kept by references: counts, sidecar rows, and what gives a page back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from speckv_debug.collectors.reference.batch import Round
from speckv_debug.collectors.reference.compression import C128
from speckv_debug.collectors.reference.engine import Engine
from speckv_debug.collectors.reference.faults.shot import Shot, wrap
from speckv_debug.collectors.reference.faults.states import states_of
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.sidecar import Sidecar
from speckv_debug.collectors.reference.states import Kept


def share_not_counted(engine: Engine, shot: Shot) -> None:
    """A request's row names the pages of a prefix that the tree has, and takes no reference to them."""
    states = states_of(engine)
    shot.occasion = 1

    def around(begin: Callable[[Request, list[Kept]], None]) -> Callable[[Request, list[Kept]], None]:
        def faulty(request: Request, kept: list[Kept]) -> None:
            if not kept or not shot.due(engine.observer.step, request.id):
                return begin(request, kept)
            retain = states.sidecar.retain
            states.sidecar.retain = lambda *_: None  # type: ignore[method-assign]
            begin(request, kept)
            states.sidecar.retain = retain  # type: ignore[method-assign]

        return faulty

    wrap(states, "begin_row", around)


def released_twice(engine: Engine, shot: Shot) -> None:
    """The end of a row gives its references up, and again."""
    sidecar = states_of(engine).sidecar

    def around(release: Callable[..., None]) -> Callable[..., None]:
        def faulty(pages: Sequence[int], holder: str, request: Request | None = None) -> None:
            release(pages, holder, request)
            ends = request is not None and request.ended is not None and any(pages)
            if ends and shot.due(engine.observer.step, None):
                release(pages, holder, request)

        return faulty

    wrap(sidecar, "release", around)


def replace_frees_moved(engine: Engine, shot: Shot) -> None:
    """Two pages of a row change places: both are released before they are retained."""
    sidecar = states_of(engine).sidecar
    shot.occasion = 1

    def around(grow: Callable[..., None]) -> Callable[..., None]:
        def faulty(request: Request, have: int, end: int, reason: str) -> None:
            grow(request, have, end, reason)
            first, second, *_ = [*sidecar.pages(request, 2), 0]
            alone = first and second and sidecar.counts[first] == sidecar.counts[second] == 1
            if alone and shot.due(engine.observer.step, None):
                sidecar.replace(request, [second, first])
                sidecar.replace(request, [first, second])

        return faulty

    wrap(sidecar, "grow", around)


def sidecar_not_zeroed(engine: Engine, shot: Shot) -> None:
    """The end of a row gives its references up and leaves the page ids in its sidecar row."""
    sidecar = states_of(engine).sidecar

    def around(zero: Callable[[Request, int], None]) -> Callable[[Request, int], None]:
        def faulty(request: Request, used: int) -> None:
            if not used or not shot.due(engine.observer.step, request.id):
                zero(request, used)

        return faulty

    wrap(sidecar, "zero", around)


def freed_by_accept_len(engine: Engine, shot: Shot) -> None:
    """What a verify accepts decides which pages stay: that of a group which is not complete goes back."""
    states = states_of(engine)
    shot.occasion = 1

    def around(settle: Callable[[Round, Tensor, Tensor], None]) -> Callable[[Round, Tensor, Tensor], None]:
        def faulty(round_: Round, index: Tensor, lens: Tensor) -> None:
            settle(round_, index, lens)
            for request, start, n in zip(round_.requests, round_.starts, lens.tolist(), strict=True):
                page = _incomplete(states.sidecar, request, start + n)
                if page and shot.due(engine.observer.step, request.id):
                    states.sidecar.give_back([page], request)

        return faulty

    wrap(states, "settle", around)


def _incomplete(sidecar: Sidecar, request: Request, length: int) -> int:
    """The page of the group that `length` lies in, 0 if it has none yet."""
    page = length // C128.ratio // sidecar.page_size
    return sidecar.pages(request, page + 1)[-1]


PLANTS: dict[str, Callable[[Engine, Shot], Any]] = {
    "share-not-counted": share_not_counted,
    "reference-released-twice": released_twice,
    "replace-frees-a-moved-page": replace_frees_moved,
    "sidecar-row-not-zeroed": sidecar_not_zeroed,
    "page-freed-by-accept-len": freed_by_accept_len,
}
