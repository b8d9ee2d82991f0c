"""UNO's own round on the CPU: its windows, acceptance and result, around forwards that return given predictions.

    python tests/engine/real_uno.py DIR

DIR is the folder that holds the package `sglang`. Prints the recorded `accept` events and the engine's result.
"""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import building
from recorded import Events

WIDTH, VOCABULARY = 3, 64
SEEDS, COMMITTED, ROWS = [11, 21], [5, 9], [1, 2]
CANDIDATES = [[12, 13, 40], [22, 50, 51]]
CHOICES = [[13, 14, 15], [23, 52, 53]]
"""The first request's first draft is what the target chose, the second's is not."""


def main() -> None:
    """Boot, hook, run one round, print."""
    building.boot(sys.argv[1], 1, "triton")
    building.let_streams_be()
    flashinfer: Any = types.ModuleType("flashinfer")
    flashinfer.top_k = None  # for trees, which this round has none of
    sys.modules["flashinfer"] = flashinfer
    import torch
    from sglang.srt.speculative.uno_info import UnoDraftInput
    from sglang.srt.speculative.uno_worker_v2 import UnoWorkerV2

    table = torch.arange(3 * 32, dtype=torch.int32).reshape(3, 32)
    worker = _worker(UnoWorkerV2, table)
    batch = SimpleNamespace(
        spec_info=UnoDraftInput(torch.tensor(SEEDS), torch.tensor(COMMITTED), WIDTH),
        seq_lens=torch.tensor(COMMITTED),
        seq_lens_cpu=torch.tensor(COMMITTED),
        req_pool_indices=torch.tensor(ROWS),
        sampling_info=SimpleNamespace(is_all_greedy=True),
        forward_mode=_decode_mode(),
        reqs=[None, None],
    )
    events: list[dict[str, Any]] = []
    with _recording(table, events):
        result = worker.forward_batch_generation(batch)
    told = {
        name: getattr(result, name).tolist() for name in ("next_token_ids", "accept_lens", "new_seq_lens")
    }
    print(json.dumps({"events": events, "result": told}))


def _worker(cls: type, table: Any) -> Any:
    """The real worker without models: its two forwards return what is given above."""
    import torch

    worker = object.__new__(cls)
    runner = SimpleNamespace(
        req_to_token_pool=SimpleNamespace(req_to_token=table),
        model_config=SimpleNamespace(vocab_size=VOCABULARY),
        kv_index_translator=SimpleNamespace(bind_own_plan=lambda forward_batch: None),
    )
    given = {"tree_mode": False, "device": "cpu", "forward_width": WIDTH, "tail_width": WIDTH + 1}
    offsets = torch.arange(WIDTH + 1)
    vars(worker).update(**given, model_runner=runner, _tail_offsets=offsets)
    vars(worker)["_validate_batch"] = lambda batch: None
    vars(worker)["_run_draft_block"] = lambda *args, **more: (None, torch.tensor(CANDIDATES))
    told = SimpleNamespace(logits_output=None, can_run_cuda_graph=False)
    told.routed_experts_output = told.indexer_topk_output = None
    vars(worker)["_run_target_block"] = lambda *args, **more: (told, torch.tensor(CHOICES))
    return worker


def _decode_mode() -> Any:
    from sglang.srt.model_executor.forward_batch_info import ForwardMode

    return ForwardMode.DECODE


def _recording(table: Any, events: list[dict[str, Any]]) -> Any:
    """UNO's hooks on the real class, with a sink that resolves what it gets."""
    from contextlib import contextmanager

    from speckv_debug.collectors.hooking import Patches
    from speckv_debug.collectors.sglang.activity import Activity
    from speckv_debug.collectors.sglang.journal import Journal
    from speckv_debug.collectors.sglang.requests import Identity, Rows
    from speckv_debug.collectors.sglang.scene import Scene
    from speckv_debug.collectors.sglang.uno import UnoHooks

    engine: Any = SimpleNamespace(algorithm="UNO", bypass=None, table=SimpleNamespace(req_to_token=table))
    sink = Events(None)
    sink.rows = events
    journal = Journal(sink)
    journal.bound = True
    scene = Scene(engine, journal, Activity(), Rows())
    patches = Patches(lambda name, error: events.append({"failed": name, "error": repr(error)}))

    @contextmanager
    def recording() -> Any:
        for target, hook in UnoHooks(scene).functions():
            assert patches.install(target, hook), target.name
        whose = [Identity("a", 1, 1), Identity("b", 2, 1)]
        with scene.activity.running(object(), whose):
            yield
        patches.undo()

    return recording()


if __name__ == "__main__":
    main()
