"""DFlash and DSpark: a chain is verified and a prefix of it accepted, without an accept index.

Their results lie in buffers that the next round overwrites, and DSpark may accept inside a CUDA graph, where Python
sees only those buffers: they are copied when the worker returns, on the stream that filled them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang.families import CHAIN
from speckv_debug.collectors.sglang.ragged import cut_ragged
from speckv_debug.collectors.sglang.requests import Batch
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.sglang.targets import KERNELS, SPECULATIVE
from speckv_debug.collectors.staging import Derived, Staged, send, stage
from speckv_debug.recording.blocks import Cut, Each

DSPARK = f"{SPECULATIVE}.dspark_components"
VERIFY_CHAIN = {
    "DFLASH": Target(
        "verify_chain",
        (f"{SPECULATIVE}.dflash_worker_v2:DFlashWorkerV2.forward_batch_generation",),
        parameters=("batch",),
    ),
    "DSPARK": Target(
        "verify_chain",
        (f"{DSPARK}.dspark_worker_v2:DSparkWorkerV2.forward_batch_generation",),
        parameters=("batch",),
    ),
}
PREPARE_CHAIN = Target(
    "prepare_chain",
    (f"{SPECULATIVE}.dflash_info:DFlashVerifyInput.prepare_for_verify",),
    parameters=("batch",),
)
CHAIN_GREEDY = Target(
    "chain_greedy",
    (
        f"{KERNELS}.dflash:compute_dflash_correct_drafts_and_bonus",
        f"{SPECULATIVE}.dflash_utils:compute_dflash_correct_drafts_and_bonus",
    ),
    parameters=("candidates", "target_predict"),
    optional=True,
)
CHAIN_GREEDY_FUSED = Target(
    "chain_greedy_fused",
    (
        f"{KERNELS}.dflash:_compute_dflash_accept_bonus_triton_unchecked",
        f"{SPECULATIVE}.triton_ops.dflash:_compute_dflash_accept_bonus_triton_unchecked",
        f"{SPECULATIVE}.triton_ops.dflash_accept_bonus:_compute_dflash_accept_bonus_triton_unchecked",
    ),
    parameters=("candidates", "target_top1", "accept_lens_out"),
    optional=True,
)
CHAIN_SAMPLED = Target(
    "chain_sampled",
    (f"{SPECULATIVE}.dflash_utils:compute_dflash_sampling_correct_drafts_and_bonus",),
    optional=True,
)
CHAIN_BLOCK = Target(
    "chain_block",
    (f"{SPECULATIVE}.dflash_worker_v2:DFlashWorkerV2._accept_block",),
    optional=True,
)
CHAIN_FINALIZE = Target(
    "chain_finalize",
    (f"{DSPARK}.dspark_verify:TargetVerifyExecutor.accept_and_finalize",),
    optional=True,
)


@dataclass(slots=True)
class _Round:
    """One worker call: what is verified, and what was seen of how it was accepted."""

    sampling: str
    verified: Verified | None = None
    target_predict: Staged | None = None
    correct: Staged | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A batch's verify input, staged; `lengths` are the rows of each request where they are ragged."""

    requests: Batch
    width: int
    lists: dict[str, Staged]
    seq_lens: Staged
    lengths: Staged | None

    @property
    def widths(self) -> Any:
        """Rows of each request."""
        return self.width if self.lengths is None else Each(_first(self.lengths, len(self.requests)))

    @property
    def block_starts(self) -> Each:
        """The first flat row of each request."""
        lengths, count = self.lengths, len(self.requests)
        if lengths is None:
            return Each(list(range(0, count * self.width, self.width)))
        return Each(Derived(lambda: np.cumsum([0, *lengths.resolve()[: count - 1]]), lengths.ready))

    def cut(self, values: Staged, stride: int | None = None) -> Cut | Each:
        """The values of each request's rows, which lie `stride` apart where that is given, else end to end."""
        if self.lengths is None:
            return Cut(values, self.width)
        return cut_ragged(values, self.lengths, len(self.requests), stride)


def _first(values: Staged, count: int) -> Derived:
    return Derived(lambda: values.resolve()[:count], values.ready)


class ChainAcceptHooks:
    """The workers of DFlash and DSpark."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._round: _Round | None = None

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        algorithm = self._scene.engine.algorithm
        if algorithm not in CHAIN:
            return
        yield VERIFY_CHAIN[algorithm], self.verify
        yield PREPARE_CHAIN, self.prepare
        yield CHAIN_GREEDY, self.greedy
        yield CHAIN_GREEDY_FUSED, self.greedy_fused
        yield CHAIN_SAMPLED, self.sampled
        yield CHAIN_BLOCK, self.block
        yield CHAIN_FINALIZE, self.finalize

    def methods(self) -> Iterator[Methods]:
        yield from ()

    def verify(self, call: Call) -> Steps:
        """forward_batch_generation(batch, …): prefill, or one round of drafting and verifying."""
        outer, self._round = self._round, _Round(self._default_sampling(call["batch"]))
        try:
            result = yield
            running = self._round
        finally:
            self._round = outer
        if running.verified is not None:
            columns = self._columns(running, running.verified, result)
            self._scene.journal.emit_rows("accept", len(running.verified.requests), **columns)
            send(joined=True)

    def prepare(self, call: Call) -> Steps:
        """DFlashVerifyInput.prepare_for_verify(batch, …): `out_cache_loc` is built, lengths are those before."""
        batch, verified = call["batch"], call["self"]
        if self._round is not None and batch.reqs and not batch.forward_mode.is_idle():
            layout = getattr(verified, "ragged_verify_layout", None)
            self._round.verified = Verified(
                requests=Batch.of(self._scene.activity.batch),
                width=int(verified.draft_token_num),
                lists=self._lists(batch, verified, layout),
                seq_lens=stage(batch.seq_lens),
                lengths=None if layout is None else stage(layout.verify_lens),
            )
        yield

    def _lists(self, batch: Any, verified: Any, layout: Any) -> dict[str, Staged]:
        lists = {"draft_tokens": stage(verified.draft_token), "positions": stage(verified.positions)}
        if self._scene.level > 1:
            lists["table_slots"] = self._table_slots(batch, verified, layout)
        return {**lists, "out_cache_loc": stage(batch.out_cache_loc)}

    def _table_slots(self, batch: Any, verified: Any, layout: Any) -> Staged:
        """The rows' entries at the verified positions, as they stand now."""
        import torch

        table = self._scene.engine.table.req_to_token
        rows = batch.req_pool_indices.long()
        if layout is None:
            rows = rows.repeat_interleave(int(verified.draft_token_num))
        else:
            total = verified.positions.numel()
            ends = layout.verify_lens.long().cumsum(0)
            owner = torch.searchsorted(ends, torch.arange(total, device=ends.device), right=True)
            rows = rows[owner.clamp(max=rows.numel() - 1)]
        places = verified.positions.long().clamp(min=0, max=table.shape[1] - 1)
        return stage(table[rows, places])

    def greedy(self, call: Call) -> Steps:
        """compute_dflash_correct_drafts_and_bonus(candidates, target_predict) → (correct drafts, bonus)."""
        correct, _ = yield
        self._accepted("greedy", correct, call["target_predict"])

    def greedy_fused(self, call: Call) -> Steps:
        """The same as one kernel, which writes its results into buffers that alternate."""
        yield
        self._accepted("greedy", call["accept_lens_out"], call["target_top1"])

    def sampled(self, call: Call) -> Steps:
        """compute_dflash_sampling_correct_drafts_and_bonus(…) → (correct drafts, bonus)."""
        correct, _ = yield
        self._accepted("target_only", correct, None)

    def block(self, call: Call) -> Steps:
        """DFlashWorkerV2._accept_block(…) → (correct drafts, …), behind a simulation of lengths if there is one."""
        correct, *_ = yield
        if self._round is not None:
            self._round.correct = stage(correct)

    def finalize(self, call: Call) -> Steps:
        """TargetVerifyExecutor.accept_and_finalize(…): its outcome may lie in the buffers of a graph."""
        outcome = yield
        if self._round is not None:
            self._round.correct = stage(outcome.correct_len)

    def _accepted(self, sampling: str, correct: Any, chosen: Any) -> None:
        if self._round is not None:
            self._round.sampling = "simulated" if simulates() else sampling
            self._round.correct = None if simulates() else stage(correct)
            self._round.target_predict = None if chosen is None else stage(chosen)

    def _default_sampling(self, batch: Any) -> str:
        """What a graph accepts with, unseen: greedy batches greedily, others by rejection or by the target alone."""
        if simulates():
            return "simulated"
        if getattr(getattr(batch, "sampling_info", None), "is_all_greedy", True):
            return "greedy"
        return "rejection" if self._scene.engine.algorithm == "DSPARK" else "target_only"

    def _columns(self, running: _Round, verified: Verified, result: Any) -> dict[str, Any]:
        """One row a request; what the result holds is strided by the widest chain."""
        following, count = getattr(result, "next_draft_input", None), len(verified.requests)
        chosen = running.target_predict if verified.lengths is None else None
        return {
            **verified.requests.columns(),
            "batch_index": Each(list(range(count))),
            "algorithm": (self._scene.engine.algorithm or "").lower(),
            "layout": "chain",
            "sampling": running.sampling,
            "topk": 1,
            "width": verified.widths,
            "block_start": verified.block_starts,
            "seq_len": Each(_first(verified.seq_lens, count)),
            **{name: verified.cut(values) for name, values in verified.lists.items()},
            "predict": verified.cut(stage(result.next_token_ids), verified.width),
            "target_predict": chosen and Cut(chosen, verified.width),
            "accept_len": _one_each(stage(result.accept_lens), count),
            "num_correct_drafts": _one_each(running.correct, count),
            "new_seq_len": _one_each(_staged(result.new_seq_lens), count),
            "bonus_token": _one_each(_staged(getattr(following, "bonus_tokens", None)), count),
        }


def simulates() -> bool:
    """Whether accept lengths are drawn by SGLang's simulation and not by the target."""
    module = sys.modules.get(f"{SPECULATIVE}.spec_utils")
    return float(getattr(module, "SIMULATE_ACC_LEN", 0) or 0) > 0


def _one_each(values: Staged | None, count: int) -> Each | None:
    return None if values is None else Each(_first(values, count))


def _staged(tensor: Any) -> Staged | None:
    return None if tensor is None else stage(tensor)
