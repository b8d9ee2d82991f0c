"""SGLang's commit of recurrent states behind a verify, on the CPU: which row's state it keeps, and what is recorded.

    python tests/engine/real_mamba.py DIR

DIR is the folder that holds the package `sglang`. The function is SGLang's own; the attention backend is a stand-in that
keeps what it is told.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import building
from recorded import Events

WIDTH = 4
ACCEPTED = [[0, 1, 3], [4, -1, -1]]
"""The first request keeps its root, its first draft and its third, the second its root."""


class Backend:
    """What stands for the attention of hybrid models."""

    def __init__(self) -> None:
        self.kept: list[int] = []

    def update_mamba_state_after_mtp_verify(self, last_correct_step_indices: Any, **others: Any) -> None:
        """Keep what is told."""
        self.kept = last_correct_step_indices.tolist()


def main() -> None:
    """Boot, hook, one commit, print."""
    building.boot(sys.argv[1], 1, "triton")
    import sglang.srt.speculative.spec_utils as module
    import torch

    if hasattr(module, "mambaish_config"):
        module.mambaish_config = lambda model_config: model_config
    if hasattr(module, "pp_spec_stable_rows_enabled"):
        module.pp_spec_stable_rows_enabled = lambda: False
    backend, states = Backend(), SimpleNamespace(size=8)
    table = SimpleNamespace(mamba_pool=states)
    runner = SimpleNamespace(attn_backend=backend, model=None, req_to_token_pool=table)
    runner.model_config = runner.mambaish_config = object()
    mode = SimpleNamespace(is_idle=lambda: False)
    batch = SimpleNamespace(
        forward_mode=mode, mamba_track_indices=None, req_pool_indices=torch.tensor([2, 5])
    )
    events = Events(SimpleNamespace())
    with events.recording("EAGLE", table=table, target_runner=runner) as scene:
        who = [
            scene.rows.identity(SimpleNamespace(rid=rid, req_pool_idx=row))
            for rid, row in (("a", 2), ("b", 5))
        ]
        told = {"accept_lens": torch.tensor([3, 1]).int(), "accept_index": torch.tensor(ACCEPTED).int()}
        with scene.activity.running(batch, who):
            module.commit_mamba_states_after_verify(
                SimpleNamespace(model_runner=runner), batch, draft_token_num=WIDTH, **told
            )
    print(json.dumps({"events": events.rows, "failures": events.failures, "kept": backend.kept}))


if __name__ == "__main__":
    main()
