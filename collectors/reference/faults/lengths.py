"""Faults in the lengths that host and device keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from torch import Tensor

from speckv_debug.collectors.reference.batch import Result, Round
from speckv_debug.collectors.reference.config import EngineConfig
from speckv_debug.collectors.reference.engine import Engine
from speckv_debug.collectors.reference.faults.shot import Shot, wrap
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.verifier import Accepted
from speckv_debug.kernels.reserve import grown_length, grown_length_unaligned


def seq_len_without_bonus(engine: Engine, shot: Shot) -> None:
    """`new_seq_len = seq_len + num_correct_drafts`."""

    def around(advance: Callable[[Round, Accepted], Tensor]) -> Callable[[Round, Accepted], Tensor]:
        def faulty(round_: Round, accepted: Accepted) -> Tensor:
            lengths = advance(round_, accepted)
            for i, n in enumerate(accepted.lens.tolist()):
                if n > 1 and shot.due(engine.observer.step, round_.requests[i].id):
                    lengths[i] -= 1
            return lengths

        return faulty

    wrap(engine.verifier, "advance", around)


def growth_skipped(engine: Engine, shot: Shot) -> None:
    """One request is always taken to have room enough."""
    victims: list[Request] = []
    shot.occasion = 1

    def around_length(new_length: Callable[[Request], int]) -> Callable[[Request], int]:
        def faulty(request: Request) -> int:
            has_no_reserve = request.allocated - request.committed < engine.config.page_size
            if not victims and len(engine.running) > 1 and has_no_reserve:
                victims.append(request)
            right = new_length(request)
            if request not in victims:
                return right
            if right > request.allocated:
                shot.due(engine.observer.step, request.id)
            return request.allocated

        return faulty

    wrap(engine.growing, "new_length", around_length)


def commit_one_short(engine: Engine, shot: Shot) -> None:
    """`committed += n - 1`."""

    def around(commit: Callable[..., None]) -> Callable[..., None]:
        def faulty(request: Request, count: int, step: int) -> None:
            short = count > 1 and shot.due(step, request.id)
            commit(request, count - 1 if short else count, step)

        return faulty

    wrap(engine.results, "commit", around)


def late_commit(engine: Engine, shot: Shot) -> None:
    """A result that comes after its request's end is committed all the same."""

    def around(process: Callable[[Result], None]) -> Callable[[Result], None]:
        def faulty(result: Result) -> None:
            for request, count in zip(result.batch.requests, result.accept_lens, strict=False):
                if request.ended and not request.session and shot.due(result.step, request.id):
                    engine.results.commit(request, count, result.step)
            process(result)

        return faulty

    wrap(engine.results, "process", around)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRound(EngineConfig):
    """Settings whose reserve counts one round."""

    @property
    def reserve(self) -> int:
        """Half of what it takes while a verify is in flight."""
        config: Any = super(OneRound, self)
        return int(config.reserve) // 2


def reserve_of_one_round(engine: Engine, shot: Shot) -> None:
    """One preparation reserves for its own verify only; the one in flight has moved the device's length on."""
    config, width = engine.config, engine.config.num_draft_tokens
    shot.occasion = 1
    short = OneRound(**{field.name: getattr(config, field.name) for field in fields(config)})

    def too_short(request: Request) -> bool:
        room = grown_length(request.allocated, request.committed, short.reserve, config.page_size)
        return request.device is not None and request.device.seq_len + width > room

    def around(grow: Callable[..., list[Request]]) -> Callable[..., list[Request]]:
        def faulty(running: list[Request]) -> list[Request]:
            victim = next(filter(too_short, running), None)
            wrong = victim is not None and shot.due(engine.observer.step, victim.id)
            engine.growing.config = short if wrong else config
            return grow(running)

        return faulty

    wrap(engine.growing, "grow", around)


def reserve_wrong_page_size(engine: Engine, shot: Shot) -> None:
    """The new allocated length is rounded up to another page size than the allocator's."""
    config = engine.config

    def around(new_length: Callable[[Request], int]) -> Callable[[Request], int]:
        def faulty(request: Request) -> int:
            right, lengths = new_length(request), (request.allocated, request.committed, config.reserve)
            wrong = grown_length(*lengths, config.page_size // 2)
            odd = wrong not in (right, grown_length_unaligned(*lengths))
            return wrong if odd and shot.due(engine.observer.step, request.id) else right

        return faulty

    wrap(engine.growing, "new_length", around)


PLANTS: dict[str, Callable[[Engine, Shot], Any]] = {
    "seq-len-without-bonus": seq_len_without_bonus,
    "growth-skipped": growth_skipped,
    "commit-one-short": commit_one_short,
    "late-commit": late_commit,
    "reserve-of-one-round": reserve_of_one_round,
    "reserve-wrong-page-size": reserve_wrong_page_size,
}
