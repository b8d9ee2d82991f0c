"""Who asks for what and when; standard library only."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One request as a client sends it.

    Attributes:
        id: Request id.
        prompt: Token ids; behind `follows`, what is added to that conversation.
        max_new_tokens: Output tokens asked for.
        arrival: Turn of the engine's loop at which it arrives.
        stop_token: Ends the output.
        abort_at: Turn at which the client gives up.
        session: Conversation whose KV stays with the engine between turns.
        follows: Job whose prompt and output this one's prompt continues; it has ended by then.
        last_turn: The session ends with this job.
    """

    id: str
    prompt: tuple[int, ...]
    max_new_tokens: int
    arrival: int = 0
    stop_token: int | None = None
    abort_at: int | None = None
    session: str | None = None
    follows: str | None = None
    last_turn: bool = True


def mixed_jobs(seed: int, *, count: int = 8, vocab: int = 64, longest: int = 30) -> list[Job]:
    """Requests that share prefixes, come in pairs, talk on in a session, and give up.

    Args:
        seed: Same seed, same jobs.
        count: Plain requests, the first two with a common prefix; a conversation of two turns and two aborted requests come on top.
        vocab: Token ids are below this.
        longest: Longest prompt; the conversation's second turn may be up to 20 tokens longer.
    """
    draw = random.Random(seed)

    def tokens(count: int) -> tuple[int, ...]:
        return tuple(draw.randrange(vocab) for _ in range(count))

    shared = [tokens(longest * 2 // 3) for _ in range(2)]
    jobs = []
    for i in range(count):
        share = draw.choice((0, longest // 3, longest // 2, longest)) if i > 1 else longest // 2
        start = shared[i // 2 % 2][:share]
        stop = draw.randrange(vocab) if draw.random() < 0.3 else None
        jobs.append(
            Job(
                id=f"r{i}",
                prompt=start + tokens(draw.randint(2, max(2, longest - len(start)))),
                max_new_tokens=draw.randint(4, 20),
                arrival=i // 2 * draw.randint(2, 5),
                stop_token=stop,
            )
        )
    jobs.append(
        Job(
            id="talk.1",
            prompt=tokens(longest // 2),
            max_new_tokens=draw.randint(4, 9),
            arrival=draw.randint(0, 5),
            session="talk",
            last_turn=False,
        )
    )
    jobs.append(
        Job(
            id="talk.2",
            prompt=tokens(draw.randint(1, 8)),
            max_new_tokens=draw.randint(4, 9),
            arrival=draw.randint(8, 20),
            session="talk",
            follows="talk.1",
            last_turn=draw.random() < 0.5,
        )
    )
    for id, arrival, abort_at in (("gone.1", 2, draw.randint(5, 9)), ("gone.2", 4, draw.randint(4, 5))):
        jobs.append(Job(id=id, prompt=shared[0], max_new_tokens=16, arrival=arrival, abort_at=abort_at))
    return jobs
