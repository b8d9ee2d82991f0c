"""UNO without trees: the target drafts behind the last emitted token, then verifies the drafts one position on.

A round's first forward writes the KV of the token at the committed length for good, and the target's choice there (the
clean root) is emitted without being a draft; the second forward verifies it and the drafts. Together they are one
verify of one row more, with two tokens that are no drafts (`settings.num_non_draft`): nothing is copied, the chain's
prefix stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang.families import UNO
from speckv_debug.collectors.sglang.requests import Batch
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.sglang.targets import SPECULATIVE
from speckv_debug.collectors.staging import Derived, Staged, send, stage
from speckv_debug.recording.blocks import Cut, Each

WORKER = f"{SPECULATIVE}.uno_worker_v2:UnoWorkerV2"
VERIFY_UNO = Target("verify_uno", (f"{WORKER}.forward_batch_generation",), parameters=("batch",))
FORWARD_UNO = Target("forward_uno", (f"{WORKER}._make_forward_batch",))
ACCEPT_UNO = Target("accept_uno", (f"{WORKER}._accept_and_pack",))


@dataclass(slots=True)
class _Round:
    """One worker call: its first and its second forward, and what the target chose in the second."""

    first: dict[str, Staged] = field(default_factory=dict)
    second: dict[str, Staged] = field(default_factory=dict)
    table_slots: Staged | None = None
    before: Staged | None = None
    chosen: Staged | None = None


class UnoHooks:
    """The worker of UNO's linear mode."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._round: _Round | None = None

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        if self._scene.engine.algorithm == UNO and self._scene.engine.bypass is None:
            yield VERIFY_UNO, self.verify
            yield FORWARD_UNO, self.forward
            yield ACCEPT_UNO, self.accept

    def methods(self) -> Iterator[Methods]:
        yield from ()

    def verify(self, call: Call) -> Steps:
        """forward_batch_generation(batch, …): prefill, or one round."""
        outer, self._round = self._round, _Round()
        try:
            result = yield
            running = self._round
        finally:
            self._round = outer
        if running.second:
            whose = Batch.of(self._scene.activity.batch)
            columns = self._columns(running, whose, result, call["batch"])
            self._scene.journal.emit_rows("accept", len(whose), **columns)
            send(joined=True)

    def forward(self, call: Call) -> Steps:
        """_make_forward_batch(spec_input_type, input_ids, positions, out_cache_loc, prefix_lens, …)."""
        running = self._round
        if running is not None:
            staged = {
                "draft_tokens": stage(call["input_ids"]),
                "positions": stage(call["positions"]),
                "out_cache_loc": stage(call["out_cache_loc"]),
            }
            if str(call["spec_input_type"].name) == "UNO_DRAFT":
                running.first, running.before = staged, stage(call["prefix_lens"])
            else:
                running.second = staged
                if self._scene.level > 1:
                    width = call["input_ids"].numel() // len(call["prefix_lens"]) + 1
                    rows, starts = call["req_pool_indices"], call["prefix_lens"] - 1
                    running.table_slots = self._scene.table_windows(rows, starts, width)
        yield

    def accept(self, call: Call) -> Steps:
        """_accept_and_pack(candidates, target_top1, committed_seq_lens): greedy rounds alone."""
        yield
        if self._round is not None:
            self._round.chosen = stage(call["target_top1"])

    def _columns(self, running: _Round, whose: Batch, result: Any, batch: Any) -> dict[str, Any]:
        count, width = len(whose), int(result.speculative_output_stride)
        output, greedy = stage(result.next_token_ids), running.chosen is not None
        lists = {name: _joined(running.first[name], values, width) for name, values in running.second.items()}
        chosen = _joined(output, running.chosen, width) if running.chosen is not None else None
        return {
            **whose.columns(),
            "batch_index": Each(list(range(count))),
            "algorithm": UNO.lower(),
            "layout": "chain",
            "sampling": "greedy" if greedy else "rejection",
            "topk": 1,
            "width": width,
            "block_start": Each(list(range(0, count * width, width))),
            "seq_len": _one_each(running.before, count),
            **{name: Cut(values, width) for name, values in lists.items()},
            "table_slots": running.table_slots and Cut(running.table_slots, width),
            "predict": Cut(output, width),
            "target_predict": chosen and Cut(chosen, width),
            "accept_len": _one_each(stage(result.accept_lens), count),
            "new_seq_len": _one_each(stage(result.new_seq_lens), count),
            "bonus_token": _one_each(stage(result.next_draft_input.bonus_tokens), count),
        }


def _joined(first: Staged, second: Staged, width: int) -> Derived:
    """The first value of each request in `first`, then its `width - 1` values in `second`."""

    def join() -> Any:
        rest = second.resolve().reshape(-1, width - 1)
        lead = first.resolve().reshape(len(rest), -1)[:, :1]
        return np.concatenate((lead, rest), axis=1).reshape(-1)

    return Derived(join, lambda: first.ready() and second.ready())


def _one_each(values: Staged | None, count: int) -> Each | None:
    if values is None:
        return None
    return Each(Derived(lambda: values.resolve()[:count], values.ready))
