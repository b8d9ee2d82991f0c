"""Drives the scheduler's own event loop with a script of arrivals."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

from workloads import Arrival


class _Done(BaseException):
    """Everything that was sent has come back; no failure of the engine."""


def drive(
    scheduler: Any, script: Iterable[Arrival], overlap: bool, most_turns: int = 400
) -> dict[str, list[int]]:
    """Run until every request has come back and the loop has idled.

    Returns:
        Each request's output tokens as far as the client sees them.
    """
    waiting = sorted(script, key=lambda arrival: arrival.at)
    turn, quiet, seen = 0, 0, {}

    def receive(*args: Any, **kwargs: Any) -> list[Any]:
        nonlocal turn, quiet
        _note_requests(scheduler, seen)
        arriving = [each for each in waiting if each.at <= turn and _is_due(each, seen)]
        waiting[:] = [each for each in waiting if each not in arriving]
        turn += 1
        quiet = quiet + 1 if not arriving and not waiting and _is_idle(scheduler) else 0
        if quiet > 2 or turn > most_turns:
            raise _Done
        return [each.message() for each in arriving]

    receiver = getattr(scheduler, "request_receiver", scheduler)  # 0.5.12 receives by itself
    type(receiver).recv_requests = staticmethod(receive)
    with contextlib.suppress(_Done):
        scheduler.run_event_loop() if overlap else scheduler.event_loop_normal()
    return {rid: list(req.output_ids)[:limits] for rid, (req, limits) in sorted(seen.items())}


def _is_due(arrival: Arrival, seen: dict[str, tuple[Any, int]]) -> bool:
    """Whether the request that it follows has come back, or the one that it hits has put out some tokens."""
    if arrival.after is not None:
        return arrival.after in seen and seen[arrival.after][0].finished()
    return arrival.during is None or (arrival.during in seen and len(seen[arrival.during][0].output_ids) > 3)


def _note_requests(scheduler: Any, seen: dict[str, tuple[Any, int]]) -> None:
    for batch in (scheduler.running_batch, scheduler.last_batch):
        for req in batch.reqs or () if batch is not None else ():
            seen[req.rid] = (req, req.sampling_params.max_new_tokens)


def _is_idle(scheduler: Any) -> bool:
    last = scheduler.last_batch
    idle = scheduler.running_batch.is_empty() and (last is None or last.is_empty())
    waiting = scheduler.waiting_queue or scheduler.chunked_req or getattr(scheduler, "result_queue", None)
    return idle and not waiting
