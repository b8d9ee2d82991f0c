"""Workers of 0.5.12 and 0.5.13 that free what they reject in every round (V1).

Every family has one in 0.5.12 for runs without overlap; NGRAM, DFlash and frozen-KV MTP still have it in 0.5.13. A
round allocates its verify window, frees the rejected slots with reason `reject`, and sets both lengths. Accepts and
moves of these workers are not recorded, and not claimed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang.activity import Grant
from speckv_debug.collectors.sglang.requests import allocated_of_all, committed_of_all
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.sglang.targets import SPECULATIVE
from speckv_debug.recording.blocks import Each

INPUTS = ("eagle_info:EagleVerifyInput", "dflash_info:DFlashVerifyInput", "ngram_info:NgramVerifyInput")
VERIFY_V1 = [
    Target(
        f"verify_v1_{place.partition('_')[0]}",
        (f"{SPECULATIVE}.{place}.verify",),
        parameters=("batch",),
        optional=True,
    )
    for place in INPUTS
]
PREPARE_V1 = [
    Target(
        f"prepare_v1_{place.partition('_')[0]}",
        (f"{SPECULATIVE}.{place}.prepare_for_verify",),
        parameters=("batch",),
        optional=True,
    )
    for place in INPUTS
]


class V1Hooks:
    """The verify inputs of V1, which allocate and free by themselves."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        if self._scene.engine.frees_each_round:
            yield from ((target, self.prepare) for target in PREPARE_V1)
            yield from ((target, self.verify) for target in VERIFY_V1)

    def methods(self) -> Iterator[Methods]:
        if self._scene.engine.frees_each_round:
            cls = type(self._scene.engine.allocator)
            yield Methods("set_back", cls, ("restore_state",), self.set_back, optional=True)

    def prepare(self, call: Call) -> Steps:
        """prepare_for_verify(batch, …): allocates one window a request."""
        verified, reqs = call["self"], tuple(call["batch"].reqs)
        width = int(getattr(verified, "draft_token_num", 0))
        with self._scene.activity.granting(Grant("spec_reserve", reqs, (width,) * len(reqs))):
            yield

    def verify(self, call: Call) -> Steps:
        """verify(batch, …): accepts, frees what it rejects, sets both lengths."""
        with self._scene.activity.freeing("reject"):
            yield
        reqs: Any = list(call["batch"].reqs)
        lengths = {"committed": committed_of_all(reqs), "allocated": allocated_of_all(reqs)}
        columns = {name: Each(values) for name, values in lengths.items()}
        whose = self._scene.rows.batch(reqs).columns()
        self._scene.journal.emit_rows(
            "lengths", len(reqs), **whose, pool="full", **columns, cause="verify_commit"
        )

    def set_back(self, call: Call) -> Steps:
        """restore_state(…): what was allocated since a backup is free again without a free."""
        yield
        for table in ("alloc", "free"):
            self._scene.withdraw(table, "the allocator was set back to an earlier state")
