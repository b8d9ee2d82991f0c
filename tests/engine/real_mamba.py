"""SGLang's commit of recurrent states behind a verify, on the CPU: which row's state it keeps, and what is recorded.

    python tests/engine/real_mamba.py DIR [FAULT]

DIR is the folder that holds the package `sglang`. The function is SGLang's own; the attention backend is a stand-in that
keeps what it is told. FAULT is one of FAULTS: the index of another verify row, or the row of another request. Two verifies.
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
ACCEPTED = ([[0, 1, 3], [4, -1, -1]], [[0, 2, -1], [4, 5, 6]])
"""Flat rows of two verifies: the first request keeps its root, its first draft and its third, the second its root, …"""
ROWS = {"a": 2, "b": 5}
FAULTS = ("other-index", "other-row")


class Backend:
    """What stands for the attention of hybrid models."""

    def __init__(self) -> None:
        self.kept: list[list[int]] = []

    def update_mamba_state_after_mtp_verify(self, last_correct_step_indices: Any, **others: Any) -> None:
        """Keep what is told."""
        self.kept.append(last_correct_step_indices.tolist())


def main() -> None:
    """Boot, hook, commit twice, print."""
    fault = sys.argv[2] if len(sys.argv) > 2 else None
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
    events = Events(SimpleNamespace())
    with events.recording("EAGLE", table=table, target_runner=runner) as scene:
        lengths = torch.tensor([6, 10])
        for number, accepted in enumerate(ACCEPTED):
            index = torch.tensor(accepted).int()
            _verify(scene, lengths, index)
            planted = fault if number else None
            batch, told = _batch(planted), _told(planted, index)
            with scene.activity.running(batch, _who(scene)):
                module.commit_mamba_states_after_verify(
                    SimpleNamespace(model_runner=runner), batch, draft_token_num=WIDTH, **told
                )
            lengths = lengths + (index >= 0).sum(1)
        _verify(scene, lengths, torch.tensor(ACCEPTED[1]).int())
    print(json.dumps({"events": events.rows, "failures": events.failures, "kept": backend.kept}))


def _batch(fault: str | None) -> Any:
    """The requests' rows, or the two exchanged."""
    import torch

    rows = [*ROWS.values()][:: -1 if fault == "other-row" else 1]
    mode = SimpleNamespace(is_idle=lambda: False)
    return SimpleNamespace(forward_mode=mode, mamba_track_indices=None, req_pool_indices=torch.tensor(rows))


def _told(fault: str | None, index: Any) -> dict[str, Any]:
    """What the commit is called with; one accepted row too few makes it keep the state before the last one's."""
    lens = (index >= 0).sum(1).int()
    if fault == "other-index":
        lens[1] -= 1
    return {"accept_lens": lens, "accept_index": index}


def _who(scene: Any) -> Any:
    return [scene.rows.identity(SimpleNamespace(rid=rid, req_pool_idx=row)) for rid, row in ROWS.items()]


def _verify(scene: Any, lengths: Any, index: Any) -> None:
    """The accept that a commit is judged by."""
    scene.journal.launched += 1
    for number, (each, length) in enumerate(zip(_who(scene), lengths.tolist(), strict=True)):
        rows = index[number].tolist()
        count = sum(row >= 0 for row in rows)
        verify = {"layout": "tree", "width": WIDTH, "block_start": number * WIDTH, "seq_len": length}
        kept = {"accept_index": rows, "accept_len": count, "new_seq_len": length + count}
        scene.journal.emit("accept", **each.columns(), **verify, **kept, topk=2, batch_index=number)


if __name__ == "__main__":
    main()
