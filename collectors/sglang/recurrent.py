"""Recurrent state (hybrid linear attention): which verify row's state is kept behind each verify.

`commit_mamba_states_after_verify` (0.5.14 and later) hands the rows to the attention backend, or to kernels that replay a
ring. What the backend is told is recorded; where it is not asked, the rows that were worked out before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from speckv_debug.collectors.around import Around
from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.requests import Batch
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.staging import Load, stage_all
from speckv_debug.recording.blocks import Each

UTILS = f"{targets.SPECULATIVE}.spec_utils"
COMMIT = Target(
    "mamba_verify",
    (f"{UTILS}:commit_mamba_states_after_verify",),
    parameters=("target_worker", "batch"),
    optional=True,
)
STEPS = Target("mamba_steps", (f"{UTILS}:_verify_commit_step_indices",), optional=True)
KEEPS = ("update_mamba_state_after_mtp_verify",)
COMMITS = ("mamba_verify", "mamba_commit")


class RecurrentHooks:
    """The commit behind a verify; nothing for a model without recurrent state."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._steps: Any = None

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        if self._scene.engine.has_recurrent_state:
            yield COMMIT, Around(self.committing, self.committed)
            yield STEPS, Around(_nothing, self.worked_out)

    def methods(self) -> Iterator[Methods]:
        if self._scene.engine.has_recurrent_state:
            backend = type(self._scene.engine.target_runner.attn_backend)
            keep = Around(self.keeping, takes="last_correct_step_indices")
            yield Methods("mamba_commit", backend, KEEPS, keep, ("last_correct_step_indices",), optional=True)

    def committing(self, call: Call) -> Any:
        """commit_mamba_states_after_verify(target_worker, batch, …): 0.5.22 and later may hand the rows over."""
        prepared = call.get("prepared_step_indices")
        self._steps = None if prepared is None else prepared[0]
        return call["batch"]

    def worked_out(self, _: Any, result: Any) -> None:
        """_verify_commit_step_indices(…): rows to keep, and rows to track for the tree."""
        self._steps = result[0]

    def keeping(self, steps: Any) -> None:
        """update_mamba_state_after_mtp_verify(last_correct_step_indices, …) of the backend: what is really kept."""
        self._steps = steps

    def committed(self, batch: Any, _: Any) -> None:
        """Each request's own row of the verify."""
        steps, self._steps = self._steps, None
        if batch.forward_mode.is_idle():
            return
        if steps is None:
            self._scene.withdraw("state_commit", "a kernel works out by itself which state to keep")
            return
        count = int(steps.numel())
        whose = Batch.of(self._scene.activity.batch).first(count)
        load, places = stage_all((steps, batch.req_pool_indices[:count]))
        self._scene.journal.defer("state_commit", count, load, _columns, load, places, whose)


def _columns(load: Load, places: Sequence[int], whose: Batch) -> dict[str, Any]:
    """The columns of `state_commit`, once the rows have arrived."""
    steps, rows = (load.values(place) for place in places)
    return {"pool": "mamba", "request": Each(whose.requests), "row": Each(rows), "step_index": Each(steps)}


def _nothing(_: Any) -> None:
    """What counts comes afterwards."""
