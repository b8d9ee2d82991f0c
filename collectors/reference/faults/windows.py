"""Faults in the sliding window: what is evicted, and where the mapping leads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from speckv_debug.collectors.reference.batch import Round, VerifyInput
from speckv_debug.collectors.reference.engine import Engine
from speckv_debug.collectors.reference.faults.shot import Shot, wrap
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.window import HybridPool
from speckv_debug.kernels.reserve import page_floor


def evicted_early(engine: Engine, shot: Shot) -> None:
    """The window ends at the committed length, where it should begin a window before."""

    def around(end: Callable[[Request], int]) -> Callable[[Request], int]:
        def faulty(request: Request) -> int:
            right, wrong = end(request), page_floor(request.committed, engine.config.page_size)
            own = max(request.protected, request.evicted) + engine.config.eviction_interval
            return wrong if wrong > max(right, own) and shot.due(engine.observer.step, request.id) else right

        return faulty

    wrap(engine.growing, "evictable_end", around)


def peer_one_page_off(engine: Engine, shot: Shot) -> None:
    """`mapping[slots] = peers + page_size`, at a grant."""
    peers, size = engine.peers, engine.config.page_size
    assert peers is not None
    shot.occasion = 4  # by then the next page is granted while the request still reads its own

    def around(mapped: Callable[[list[int], list[int]], None]) -> Callable[[list[int], list[int]], None]:
        def faulty(slots: list[int], given: list[int]) -> None:
            granted = all(given) and max(given) + size < len(peers.mapping)
            if granted and shot.due(engine.observer.step, None):
                given = [peer + size for peer in given]
            mapped(slots, given)

        return faulty

    wrap(peers, "map", around)


def looked_up_in_the_main_table(engine: Engine, shot: Shot) -> None:
    """The window's layers of one request write to the slots of its row, which nobody translated."""
    _mistranslate(engine, shot, lambda slots, _peers: slots)


def translated_one_page_off(engine: Engine, shot: Shot) -> None:
    """The window's layers of one request write to the page behind that of its peers; the mapping is right."""
    peers = engine.peers
    assert peers is not None

    def beside(_slots: Tensor, found: Tensor) -> Tensor:
        behind = found + peers.page_size
        return torch.where(behind < len(peers.mapping), behind, found - peers.page_size)

    _mistranslate(engine, shot, beside)


def _mistranslate(engine: Engine, shot: Shot, wrong: Callable[[Tensor, Tensor], Tensor]) -> None:
    """One verify writes the window's layers of its first request to `wrong(slots, peers)`."""
    pool, width = engine.pool, engine.config.num_draft_tokens
    assert isinstance(pool, HybridPool)
    look_up = pool.looked_up

    def faulty_lookup(slots: Tensor) -> Tensor:
        peers = look_up(slots)
        return torch.cat((wrong(slots[:width], peers[:width]), peers[width:]))

    def around(verify: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def faulty(round_: Round, draft: VerifyInput, out_cache_loc: Tensor, prefixes: Tensor) -> Tensor:
            mine = out_cache_loc[0]
            apart = bool((look_up(mine) != wrong(mine, look_up(mine))).all())
            if apart and shot.due(engine.observer.step, round_.requests[0].id):
                pool.looked_up = faulty_lookup  # type: ignore[method-assign]
            features = verify(round_, draft, out_cache_loc, prefixes)
            pool.looked_up = look_up  # type: ignore[method-assign]
            return features

        return faulty

    wrap(engine.target, "verify", around)


PLANTS: dict[str, Callable[[Engine, Shot], Any]] = {
    "window-evicted-early": evicted_early,
    "peer-one-page-off": peer_one_page_off,
    "window-by-the-main-table": looked_up_in_the_main_table,
    "window-one-page-off": translated_one_page_off,
}
