"""Scripts of what arrives at a scheduler: requests, aborts, sessions that open and close."""

from __future__ import annotations

import array
import dataclasses
import random
from dataclasses import dataclass
from typing import Any

import tiny_llama


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """Something that arrives in a turn of the loop, or later: `after` a request has come back, `during` its decoding."""

    at: int
    after: str | None = None
    during: str | None = None

    def message(self) -> Any:
        """What the scheduler receives."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Job(Arrival):
    """A request; a turn of a streaming session if one is named; `rule` names a grammar."""

    rid: str
    prompt: tuple[int, ...]
    new_tokens: int
    session: str | None = None
    rule: str | None = None

    def message(self) -> Any:
        from sglang.srt.managers.io_struct import SessionParams, TokenizedGenerateReqInput
        from sglang.srt.sampling.sampling_params import SamplingParams

        chosen = {"regex": self.rule} if self.rule else {}
        sampling = SamplingParams(max_new_tokens=self.new_tokens, temperature=0.0, ignore_eos=True, **chosen)
        sampling.normalize(None)
        given = {
            "rid": self.rid,
            "input_text": None,
            "sampling_params": sampling,
            "return_logprob": False,
            "logprob_start_len": -1,
            "top_logprobs_num": 0,
            "token_ids_logprob": None,
            "stream": False,
        }
        if self.session:
            given["session_params"] = SessionParams(id=self.session)
        optional = {"input_embeds": None, "mm_inputs": None, "token_type_ids": None}
        try:
            takes_arrays = "array" in str(TokenizedGenerateReqInput.__annotations__["input_ids"])  # 0.5.13
            ids = array.array("q", self.prompt) if takes_arrays else list(self.prompt)
            return TokenizedGenerateReqInput(input_ids=ids, **given, **optional)
        except TypeError:
            known = {field.name for field in dataclasses.fields(TokenizedGenerateReqInput)}
            fitting = {name: value for name, value in (given | optional).items() if name in known}
            return TokenizedGenerateReqInput(input_ids=list(self.prompt), **fitting)


@dataclass(frozen=True, kw_only=True)
class Abort(Arrival):
    """The client gives a request up."""

    rid: str

    def message(self) -> Any:
        from sglang.srt.managers.io_struct import AbortReq

        return AbortReq(rid=self.rid)


@dataclass(frozen=True, kw_only=True)
class OpenSession(Arrival):
    """A streaming session begins."""

    session: str

    def message(self) -> Any:
        from sglang.srt.managers.io_struct import OpenSessionReqInput

        return OpenSessionReqInput(capacity_of_str_len=1000, session_id=self.session, streaming=True)


@dataclass(frozen=True, kw_only=True)
class CloseSession(Arrival):
    """A streaming session ends."""

    session: str

    def message(self) -> Any:
        from sglang.srt.managers.io_struct import CloseSessionReqInput

        return CloseSessionReqInput(session_id=self.session)


def waves(count: int, new_tokens: int) -> list[Arrival]:
    """Requests of two families that share a prefix each, in three waves; the last has a prompt of several chunks."""
    draw = random.Random(5)
    prefixes = [_tokens(draw, 20), _tokens(draw, 33)]
    jobs: list[Arrival] = []
    for number in range(count):
        prompt = prefixes[number % 2] + _tokens(draw, 3 + 2 * (number % 4))
        if number == count - 1:
            prompt += _tokens(draw, 40)
        length = new_tokens - 3 * (number % 3)
        jobs.append(Job(at=4 * (3 * number // count), rid=f"r{number}", prompt=prompt, new_tokens=length))
    return jobs


def sessions(count: int, new_tokens: int) -> list[Arrival]:
    """Two streaming sessions of three turns each, one of them with a turn that is aborted, and plain requests beside."""
    draw = random.Random(6)
    prefix = _tokens(draw, 20)
    script: list[Arrival] = [OpenSession(at=0, session="s0"), OpenSession(at=0, session="s1")]
    for name in ("s0", "s1"):
        before = None
        for turn in range(3):
            prompt = prefix + _tokens(draw, 5) if turn == 0 else _tokens(draw, 6)
            rid = f"{name}-{turn}"
            length = new_tokens // 2 + turn
            script.append(Job(at=0, after=before, rid=rid, prompt=prompt, new_tokens=length, session=name))
            before = rid
        if name == "s1":
            script.append(Abort(at=0, during="s1-1", rid="s1-1"))
        script.append(CloseSession(at=0, after=before, session=name))
    for number in range(max(0, count - 6)):
        prompt = prefix + _tokens(draw, 4 + number)
        script.append(Job(at=3 * number, rid=f"r{number}", prompt=prompt, new_tokens=new_tokens))
    return script


def aborts(count: int, new_tokens: int) -> list[Arrival]:
    """The waves, of which a request is given up while it runs, one while its prompt is in chunks, one that waits."""
    script = waves(count, new_tokens)
    last = max(each.at for each in script)
    queued, chunked = Abort(at=last, rid=f"r{count - 2}"), Abort(at=last + 1, rid=f"r{count - 1}")
    return [*script, Abort(at=0, during="r0", rid="r0"), queued, chunked]


def crowd(count: int, new_tokens: int) -> list[Arrival]:
    """One short request after the other, each with a long output: together more than a small pool holds."""
    draw = random.Random(7)
    return [
        Job(at=2 * number, rid=f"r{number}", prompt=_tokens(draw, 5), new_tokens=2 * new_tokens)
        for number in range(count)
    ]


def ruled(count: int, new_tokens: int) -> list[Arrival]:
    """The waves, every other request under a grammar that ends it before its limit."""
    script = []
    for number, each in enumerate(waves(count, new_tokens)):
        assert isinstance(each, Job)
        rule = f"at most {5 + number}" if number % 2 else None
        script.append(dataclasses.replace(each, rule=rule))
    return script


WORKLOADS = {"waves": waves, "sessions": sessions, "aborts": aborts, "crowd": crowd, "ruled": ruled}


def _tokens(draw: random.Random, count: int) -> tuple[int, ...]:
    return tuple(draw.randrange(3, tiny_llama.VOCABULARY) for _ in range(count))
