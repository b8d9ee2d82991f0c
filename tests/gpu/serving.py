"""Engines and servers of a real SGLang on GPUs: their arguments, how they are started, and a client.

`sglang` has to be importable, and the models of `checkpoints.py` to lie where SPECKV_DEBUG_TEST_MODELS says.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib import request as http

from tests.gpu import generate
from tests.gpu.program import TIMEOUT_S, Program, Served

MODELS = Path(os.environ.get("SPECKV_DEBUG_TEST_MODELS", "/tmp/models"))
COMMON: dict[str, Any] = {
    "skip_tokenizer_init": True,
    "attention_backend": "triton",
    "sampling_backend": "pytorch",
    "grammar_backend": "none",
    "disable_prefill_cuda_graph": True,
    "dtype": "bfloat16",
    "page_size": 1,
    "max_running_requests": 12,
    "cuda_graph_bs_decode": [1, 2, 4, 8, 12],
    "max_total_tokens": 3000,
    "mem_fraction_static": 0.5,
    "log_level": "warning",
}
"""Small pools, so that requests are retracted; half of the memory is the most that an engine may ask for."""


def eagle(topk: int, model: str = "target", draft: str = "eagle") -> dict[str, Any]:
    """A draft head, a chain or a tree."""
    drafts = 10 if topk > 1 else 5
    return drafted("EAGLE", topk, drafts, model, draft)


def drafted(algorithm: str, topk: int, drafts: int, model: str, draft: str) -> dict[str, Any]:
    """Arguments of an algorithm with a draft model."""
    return {
        "model_path": str(MODELS / model),
        "speculative_algorithm": algorithm,
        "speculative_draft_model_path": str(MODELS / draft),
        "speculative_num_steps": 4,
        "speculative_eagle_topk": topk,
        "speculative_num_draft_tokens": drafts,
    }


def run_engine(
    folder: Path, gpus: str, arguments: dict[str, Any], *words: str, options: Sequence[str] = ()
) -> Served:
    """`generate.py` until it ends by itself."""
    return start_engine(folder, gpus, arguments, *words, options=options).end_by(None)


def start_engine(
    folder: Path, gpus: str, arguments: dict[str, Any], *words: str, options: Sequence[str] = ()
) -> Program:
    """`generate.py` in a process of its own."""
    told = json.dumps(COMMON | arguments)
    command = [sys.executable, str(Path(__file__).with_name("generate.py")), told, *words]
    return Program(folder, gpus, command, options)


def flags(arguments: dict[str, Any]) -> list[str]:
    """Engine arguments as a user types them."""
    words = []
    for name, value in arguments.items():
        words += [f"--{name.replace('_', '-')}"]
        values = value if isinstance(value, list) else [] if value is True else [value]
        words += [str(each) for each in values]
    return words


class Client:
    """Asks a server over plain HTTP."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"

    def is_healthy(self) -> bool:
        """Whether the server answers."""
        try:
            with http.urlopen(f"{self._url}/health_generate", timeout=20) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def ask_all(self, count: int = generate.REQUESTS) -> dict[str, list[int]]:
        """Many requests, twelve at a time."""
        with ThreadPoolExecutor(12) as clients:
            return dict(clients.map(self._ask, range(count)))

    def _ask(self, number: int) -> tuple[str, list[int]]:
        prompt, sampling = generate.job(number)
        return generate.name_of(number), self.ask(prompt, sampling)["output_ids"]

    def ask(self, prompt: list[int], sampling: dict[str, Any]) -> Any:
        """One request."""
        body = json.dumps({"input_ids": prompt, "sampling_params": sampling}).encode()
        asked = http.Request(f"{self._url}/generate", body, {"Content-Type": "application/json"})
        with http.urlopen(asked, timeout=TIMEOUT_S) as answer:
            return json.load(answer)
