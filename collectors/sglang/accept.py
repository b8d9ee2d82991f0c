"""What was drafted, what the target chose, what was accepted: one row a request and target verify.

The accept triple is the one that `eagle_sample` returns: the kernels write theirs in place and simulated
acceptance replaces it afterwards. What the verify makes of it (new lengths, bonus tokens) is known only when
the verify returns, so moves and compactions in between are held back until the accept rows are out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from speckv_debug.collectors.around import NOTHING, Around
from speckv_debug.collectors.hooking import Hook, Methods, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.families import CHAIN, NGRAM, UNO
from speckv_debug.collectors.sglang.journal import Held
from speckv_debug.collectors.sglang.levels import DETAILED
from speckv_debug.collectors.sglang.requests import Batch
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.sglang.verify_rows import Sampled, accept_columns
from speckv_debug.collectors.staging import Staged, step

COUNTS = ("accept_token_num",)
"""What an accept kernel is told to write accepted drafts to."""


class AcceptHooks:
    """The verify drivers, and what they call to sample and accept.

    Of the round that runs, what the accept kernel is told is kept here, and then what was sampled.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._inside = False
        self._sampled: Sampled | None = None
        self._held = Held()
        self._counts: Any = None
        self._chosen: Any = None
        self._table_slots: Staged | None = None
        self._algorithm = (scene.engine.algorithm or "").lower() or None
        self._otherwise = self._sampling = self._default_sampling()
        self._detailed = scene.level >= DETAILED

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        algorithm = self._scene.engine.algorithm
        if algorithm is None or algorithm in (*CHAIN, UNO):
            return
        verify = Around(self.verifying, self.verified, self.broke_off, takes=NOTHING)
        if algorithm == NGRAM:
            yield targets.VERIFY_NGRAM, verify
            yield targets.PREPARE_VERIFY_NGRAM, Around(_same, self.prepared, takes="batch")
        else:
            yield targets.VERIFY, verify
            yield targets.VERIFY_MULTI_LAYER, verify
            yield targets.PREPARE_VERIFY, Around(_same, self.prepared, takes="batch")
        given = ("verify_input", "batch")
        yield targets.SAMPLE, Around(self.sampling, self.sampled, self.not_sampled, takes=given)
        greedy = Around(self.greedy, self.accepted, takes=("accept_token_num", "target_predict"))
        yield targets.GREEDY, greedy
        yield targets.REJECTION, Around(self.rejection, self.accepted, takes=COUNTS)
        yield targets.TARGET_ONLY, Around(self.target_only, self.accepted, takes=COUNTS)
        yield targets.SIMULATED, Around(_same, self.simulated)

    def methods(self) -> Iterator[Methods]:
        yield from ()

    def verifying(self, _: None) -> bool:
        """run_eagle_verify(…), EAGLEWorkerV2.verify(batch), NGRAMWorker.forward_batch_generation(batch)."""
        if self._inside:
            return False
        self._inside, self._sampled = True, None
        self._sampling, self._counts, self._chosen = self._otherwise, None, None
        return True

    def verified(self, outermost: bool, result: Any) -> None:
        """What was sampled, with what the verify made of it."""
        if outermost:
            self._finish(result)

    def broke_off(self, outermost: bool) -> None:
        """The engine raised behind the sampling, or before."""
        if outermost:
            self._finish(None)

    def _finish(self, result: Any) -> None:
        sampled, self._sampled, self._inside = self._sampled, None, False
        scene = self._scene
        if sampled is not None:
            journal, held, whose = scene.journal, self._held, sampled.requests
            try:
                load, places, there, shape = sampled.stage(result)
            except Exception:
                journal.end_hold(held)
                raise
            given = (
                load,
                places,
                there,
                sampled.table_slots,
                whose,
                shape,
                self._algorithm,
                sampled.sampling,
            )
            journal.release(held, "accept", len(whose.requests), load, accept_columns, *given)
        step(joined=scene.activity.batches[-1][0] is not None)

    def prepared(self, batch: Any, _: Any) -> None:
        """Behind it, `batch.out_cache_loc` is built: take the rows' entries as they stand then."""
        if batch.forward_mode.is_target_verify():
            width = batch.out_cache_loc.numel() // len(batch.seq_lens)
            self._table_slots = self._scene.table_windows(batch.req_pool_indices, batch.seq_lens, width)

    def sampling(self, verify_input: Any, batch: Any) -> tuple[Any, Any, bool]:
        """eagle_sample(verify_input, batch, …) → (predict, accept_lens, accept_index)."""
        return verify_input, batch, self.verifying(None)

    def sampled(self, state: tuple[Any, Any, bool], triple: Any) -> None:
        """Hold what belongs to this call; what follows is held back until the verify returns."""
        verify_input, batch, alone = state
        table_slots, self._table_slots = self._table_slots, None
        if not batch.forward_mode.is_idle():
            seq_lens, whose = batch.seq_lens, self._scene.activity.batches[-1][1]
            if type(whose) is not Batch or len(whose.requests) != len(seq_lens):
                whose = Batch.of(whose).first(len(seq_lens))
            self._sampled = Sampled(
                verify_input,
                triple,
                seq_lens,
                batch.out_cache_loc,
                table_slots,
                whose,
                self._sampling,
                self._chosen,
                self._counts,
            )
            self._held = Held()
            self._scene.journal.begin_hold(self._held)
        if alone:
            self._finish(None)

    def not_sampled(self, state: tuple[Any, Any, bool]) -> None:
        """The engine raised while it sampled."""
        self._inside = self._inside and not state[2]

    def greedy(self, counts: Any, chosen: Any) -> None:
        """verify_tree_greedy_func(…, target_predict): what the target chose at every row."""
        self._accepting("greedy", counts, chosen if self._detailed else None)

    def rejection(self, counts: Any) -> None:
        """chain_speculative_sampling_triton(…)."""
        self._accepting("rejection", counts, None)

    def target_only(self, counts: Any) -> None:
        """tree_speculative_sampling_target_only(…)."""
        self._accepting("target_only", counts, None)

    def _accepting(self, sampling: str, counts: Any, chosen: Any) -> None:
        if self._inside:
            self._sampling, self._chosen, self._counts = sampling, chosen, counts

    def accepted(self, _: None, result: Any) -> None:
        """A kernel that returns its outputs: predict, accept_index, accept_token_num."""
        if self._inside and isinstance(result, tuple) and len(result) == 3:
            self._counts = result[2]

    def simulated(self, *_: Any) -> None:
        """generate_simulated_accept_index(…): replaces the index, and changes the counts in place."""
        if self._inside:
            self._sampling = "simulated"

    def _default_sampling(self) -> str:
        """The kind of a batch whose accept kernel is not hooked."""
        rejects = self._scene.engine.argument("speculative_use_rejection_sampling", False)
        return "rejection" if rejects else "target_only"


def _same(told: Any) -> Any:
    """What was told, for afterwards."""
    return told
