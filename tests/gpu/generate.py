"""A client's program around `sglang.Engine`: requests that come one after the other, one of them given up, then the end.

    speckv-debug record -o x.speckv -- python tests/gpu/generate.py '{"model_path": ..., "speculative_algorithm": ...}'

Prints each request's output tokens as one JSON object; then `Engine` shuts down, or with `--again` everything comes a
second time, for somebody to end this program meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from typing import Any

REQUESTS = 48
EVERY_S = 0.02
GIVEN_UP = 3
LAST_S = 2.0
"""What was recorded longer ago than 1.5 s survives the SIGKILL of `Engine.shutdown`."""


def main() -> None:
    """Generate, print, end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arguments", type=json.loads, help="of Engine, as JSON")
    parser.add_argument("--sampled", action="store_true", help="every third request draws its tokens")
    parser.add_argument("--again", action="store_true", help="and once more, then wait for a minute")
    args = parser.parse_args()
    import sglang

    engine = sglang.Engine(**args.arguments)
    tokens = engine.loop.run_until_complete(generate(engine, args.sampled))
    print(json.dumps(tokens), flush=True)
    if args.again:
        engine.loop.run_until_complete(generate(engine, args.sampled))
        engine.loop.run_until_complete(asyncio.sleep(60))
    time.sleep(LAST_S)
    engine.shutdown()


async def generate(engine: Any, sampled: bool) -> dict[str, list[int]]:
    """Output tokens by request, those of the one that was given up included."""
    answers = await asyncio.gather(*(ask(engine, number, sampled) for number in range(REQUESTS)))
    return {name_of(number): answer["output_ids"] for number, answer in enumerate(answers)}


async def ask(engine: Any, number: int, sampled: bool) -> Any:
    """One request; it comes in its turn. One client goes away with the first tokens that it gets."""
    await asyncio.sleep(EVERY_S * number)
    prompt, sampling = job(number, sampled)
    if number != GIVEN_UP:
        return await engine.async_generate(input_ids=prompt, sampling_params=sampling, rid=name_of(number))
    answers = []
    sampling["max_new_tokens"] = 400
    stream = await engine.async_generate(
        input_ids=prompt, sampling_params=sampling, rid=name_of(number), stream=True
    )
    async for answer in stream:
        answers.append(answer)
        engine.tokenizer_manager.abort_request(name_of(number))
    return answers[-1]


def name_of(number: int) -> str:
    """A request's: no name begins with another's, or giving one up would end both."""
    return f"r{number:03}"


def job(number: int, sampled: bool = False) -> tuple[list[int], dict[str, Any]]:
    """Prompt and sampling of a request: four families share a prefix each."""
    draw = random.Random(number % 4)
    prompt = [draw.randrange(10, 2000) for _ in range(30 + 40 * (number % 4))]
    draw = random.Random(100 + number)
    prompt += [draw.randrange(10, 2000) for _ in range(draw.randrange(1, 80))]
    sampling: dict[str, Any] = {"temperature": 0.0}
    if sampled and number % 3 == 0:
        sampling = {"temperature": 0.8, "top_k": 20, "top_p": 0.9}
    return prompt, {**sampling, "max_new_tokens": draw.randrange(40, 160), "ignore_eos": True}


if __name__ == "__main__":
    main()
    sys.stdout.flush()
