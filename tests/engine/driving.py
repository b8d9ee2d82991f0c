"""Drives the scheduler's own event loop with a script of requests."""

from __future__ import annotations

import array
import contextlib
import dataclasses
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tiny_llama


@dataclass(frozen=True)
class Job:
    """A request, and the turn of the loop at which it arrives."""

    at: int
    rid: str
    prompt: tuple[int, ...]
    new_tokens: int


class _Done(BaseException):
    """Everything that was sent has come back; no failure of the engine."""


def workload(count: int, new_tokens: int, seed: int = 5) -> list[Job]:
    """Requests of two families that share a prefix each, in three waves; the last has a prompt of several chunks."""
    draw = random.Random(seed)
    prefixes = [_tokens(draw, 20), _tokens(draw, 33)]
    jobs = []
    for number in range(count):
        prompt = prefixes[number % 2] + _tokens(draw, 3 + 2 * (number % 4))
        if number == count - 1:
            prompt += _tokens(draw, 40)
        length = new_tokens - 3 * (number % 3)
        jobs.append(Job(at=4 * (3 * number // count), rid=f"r{number}", prompt=prompt, new_tokens=length))
    return jobs


def _tokens(draw: random.Random, count: int) -> tuple[int, ...]:
    return tuple(draw.randrange(3, tiny_llama.VOCABULARY) for _ in range(count))


def drive(scheduler: Any, jobs: Iterable[Job], overlap: bool, most_turns: int = 400) -> dict[str, list[int]]:
    """Run until every request has come back and the loop has idled.

    Returns:
        Each request's output tokens as far as the client sees them.
    """
    waiting = sorted(jobs, key=lambda job: job.at)
    turn, quiet, seen = 0, 0, {}

    def receive(*args: Any, **kwargs: Any) -> list[Any]:
        nonlocal turn, quiet
        _note_requests(scheduler, seen)
        arriving = [job for job in waiting if job.at <= turn]
        waiting[: len(arriving)] = []
        turn += 1
        quiet = quiet + 1 if not arriving and not waiting and _is_idle(scheduler) else 0
        if quiet > 2 or turn > most_turns:
            raise _Done
        return [_request(job) for job in arriving]

    type(scheduler.request_receiver).recv_requests = staticmethod(receive)
    with contextlib.suppress(_Done):
        scheduler.run_event_loop() if overlap else scheduler.event_loop_normal()
    return {rid: list(req.output_ids)[:limits] for rid, (req, limits) in sorted(seen.items())}


def _note_requests(scheduler: Any, seen: dict[str, tuple[Any, int]]) -> None:
    for batch in (scheduler.running_batch, scheduler.last_batch):
        for req in batch.reqs or () if batch is not None else ():
            seen[req.rid] = (req, req.sampling_params.max_new_tokens)


def _is_idle(scheduler: Any) -> bool:
    last = scheduler.last_batch
    idle = scheduler.running_batch.is_empty() and (last is None or last.is_empty())
    waiting = scheduler.waiting_queue or scheduler.chunked_req or getattr(scheduler, "result_queue", None)
    return idle and not waiting


def _request(job: Job) -> Any:
    from sglang.srt.managers.io_struct import TokenizedGenerateReqInput
    from sglang.srt.sampling.sampling_params import SamplingParams

    sampling = SamplingParams(max_new_tokens=job.new_tokens, temperature=0.0, ignore_eos=True)
    sampling.normalize(None)
    given = {
        "rid": job.rid,
        "input_text": None,
        "sampling_params": sampling,
        "return_logprob": False,
        "logprob_start_len": -1,
        "top_logprobs_num": 0,
        "token_ids_logprob": None,
        "stream": False,
    }
    optional = {"input_embeds": None, "mm_inputs": None, "token_type_ids": None}
    try:
        return TokenizedGenerateReqInput(input_ids=array.array("q", job.prompt), **given, **optional)
    except TypeError:
        known = {field.name for field in dataclasses.fields(TokenizedGenerateReqInput)}
        fitting = {name: value for name, value in (given | optional).items() if name in known}
        return TokenizedGenerateReqInput(input_ids=list(job.prompt), **fitting)
