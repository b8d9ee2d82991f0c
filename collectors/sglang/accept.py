"""What was drafted, what the target chose, what was accepted: one row a request and target verify.

The accept triple is the one that `eagle_sample` returns: the kernels write theirs in place and simulated
acceptance replaces it afterwards. What the verify makes of it (new lengths, bonus tokens) is known only when
the verify returns, so moves and compactions in between are held back until the accept rows are out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.families import CHAIN, NGRAM, UNO
from speckv_debug.collectors.sglang.journal import Held
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.sglang.verify_rows import Commit, Sampled, verify_rows
from speckv_debug.collectors.staging import Staged, send


@dataclass(slots=True)
class _Round:
    """One target verify while it runs."""

    sampling: str
    target_predict: Any = None
    counts: Any = None
    sampled: Sampled | None = None
    held: Held | None = None


class AcceptHooks:
    """The verify drivers, and what they call to sample and accept."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._round: _Round | None = None
        self._table_slots: Staged | None = None
        self._algorithm = (scene.engine.algorithm or "").lower() or None
        self._otherwise = self._default_sampling()

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        algorithm = self._scene.engine.algorithm
        if algorithm is None or algorithm in (*CHAIN, UNO):
            return
        if algorithm == NGRAM:
            yield targets.VERIFY_NGRAM, self.verify
            yield targets.PREPARE_VERIFY_NGRAM, self.prepare_verify
        else:
            yield targets.VERIFY, self.verify
            yield targets.VERIFY_MULTI_LAYER, self.verify
            yield targets.PREPARE_VERIFY, self.prepare_verify
        yield targets.SAMPLE, self.sample
        yield targets.GREEDY, self.greedy
        yield targets.REJECTION, self.rejection
        yield targets.TARGET_ONLY, self.target_only
        yield targets.SIMULATED, self.simulated

    def methods(self) -> Iterator[Methods]:
        yield from ()

    def verify(self, call: Call) -> Steps:
        """run_eagle_verify(…), EAGLEWorkerV2.verify(batch), NGRAMWorker.forward_batch_generation(batch)."""
        if self._round is not None:
            yield
            return
        self._round, result = _Round(self._otherwise), None
        try:
            result = yield
        finally:
            finished, self._round = self._round, None
            self._finish(finished, result)

    def _finish(self, finished: _Round, result: Any) -> None:
        sampled, held, journal = finished.sampled, finished.held, self._scene.journal
        if sampled is not None and held is not None:
            try:
                columns = verify_rows(sampled, Commit.of(result, sampled))
                journal.lead_rows(held, "accept", len(sampled.requests), columns)
            finally:
                journal.end_hold(held)
        send(joined=self._scene.activity.schedule_batch is not None)

    def prepare_verify(self, call: Call) -> Steps:
        """Behind it, `batch.out_cache_loc` is built: take the rows' entries as they stand then."""
        yield
        batch = call["batch"]
        if batch.forward_mode.is_target_verify():
            width = batch.out_cache_loc.numel() // len(batch.seq_lens)
            self._table_slots = self._scene.table_windows(batch.req_pool_indices, batch.seq_lens, width)

    def sample(self, call: Call) -> Steps:
        """eagle_sample(verify_input, batch, …) → (predict, accept_lens, accept_index)."""
        alone = self._round is None
        if self._round is None:
            self._round = _Round(self._otherwise)
        triple = yield
        running, table_slots, self._table_slots = self._round, self._table_slots, None
        batch = call["batch"]
        if not batch.forward_mode.is_idle():
            running.sampled = Sampled.of(
                call["verify_input"], batch, triple, table_slots, self._scene.activity.batch
            )
            running.sampled.sampling = running.sampling
            if self._scene.level > 1:
                running.sampled.lists["target_predict"] = running.target_predict
            running.sampled.correct = running.counts
            running.sampled.algorithm = self._algorithm
            running.held = Held()
            self._scene.journal.begin_hold(running.held)
        if alone:
            self._round = None
            self._finish(running, None)

    def greedy(self, call: Call) -> Steps:
        """verify_tree_greedy_func(…, target_predict): what the target chose at every row."""
        yield from self._accepting(call, "greedy", call["target_predict"])

    def rejection(self, call: Call) -> Steps:
        yield from self._accepting(call, "rejection", None)

    def target_only(self, call: Call) -> Steps:
        yield from self._accepting(call, "target_only", None)

    def _accepting(self, call: Call, sampling: str, chosen: Any) -> Steps:
        running = self._round
        if running is not None:
            running.sampling = sampling
            running.target_predict = chosen
            running.counts = call.get("accept_token_num")
        result = yield
        if running is not None and isinstance(result, tuple) and len(result) == 3:
            running.counts = result[2]

    def simulated(self, call: Call) -> Steps:
        """generate_simulated_accept_index(…): replaces the index, and changes the counts in place."""
        yield
        if self._round is not None:
            self._round.sampling = "simulated"

    def _default_sampling(self) -> str:
        """The kind of a batch whose accept kernel is not hooked."""
        rejects = self._scene.engine.argument("speculative_use_rejection_sampling", False)
        return "rejection" if rejects else "target_only"
