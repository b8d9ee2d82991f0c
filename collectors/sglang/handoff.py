"""Prefill and decode on different machines: which slots of a request are on their way, as the host knows it.

The decode side gives a request its slots before any KV exists; they hold something when its transfer is committed. The
prefill side sends chunk after chunk, and lets the request go when all have arrived. A request that is released in
between has no transfer any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.activity import Grant
from speckv_debug.collectors.sglang.requests import allocated_of, committed_of, row_of
from speckv_debug.collectors.sglang.scene import Scene

DISAGGREGATION = f"{targets.SRT}.disaggregation"
PREALLOCATE = Target(
    "preallocate", (f"{DISAGGREGATION}.decode:DecodePreallocQueue._pre_alloc",), parameters=("req",)
)
RECEIVED = Target(
    "received",
    (f"{DISAGGREGATION}.decode:DecodeTransferQueue._commit_transfer_to_req",),
    parameters=("decode_req",),
)
SEND = Target(
    "send_chunk",
    (f"{DISAGGREGATION}.prefill:SchedulerDisaggregationPrefillMixin.send_kv_chunk",),
    parameters=("req", "last_chunk", "end_idx"),
)
RECEIVE, SENDING = "receive", "send"


class HandoffHooks:
    """The queues of a disaggregated scheduler."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        mode = str(self._scene.engine.argument("disaggregation_mode", "null"))
        if mode == "decode":
            yield PREALLOCATE, self.preallocate
            yield RECEIVED, self.received
        elif mode == "prefill":
            yield SEND, self.send

    def methods(self) -> Iterator[Methods]:
        yield from ()

    def preallocate(self, call: Call) -> Steps:
        """DecodePreallocQueue._pre_alloc(req, …): sets both lengths before there is any KV."""
        req = call["req"]
        with self._scene.activity.granting(Grant("extend")):
            yield
        who, allocated = self._scene.rows.identity(req), allocated_of(req)
        lengths = {"committed": committed_of(req), "allocated": allocated, "cause": "extend"}
        self._scene.journal.emit("lengths", pool="full", **who.columns(), **lengths)
        self._begin(req, RECEIVE, 0, allocated)

    def received(self, call: Call) -> Steps:
        """DecodeTransferQueue._commit_transfer_to_req(decode_req): the KV is there."""
        yield
        end_transfers(self._scene, self._scene.rows.identity(call["decode_req"].req).request)

    def send(self, call: Call) -> Steps:
        """send_kv_chunk(req, last_chunk, end_idx): from what was sent before, `start_send_idx`, on."""
        req = call["req"]
        start = getattr(req, "start_send_idx", None)
        yield
        stop = getattr(req, "start_send_idx", None)
        if start is not None and stop is not None:
            self._begin(req, SENDING, int(start), int(stop))

    def _begin(self, req: Any, direction: str, start: int, stop: int) -> None:
        row, request = row_of(req), self._scene.rows.identity(req).request
        if row is None or request is None or stop <= start:
            return
        slots = self._scene.table_slots(row, start, stop)
        transfer = {"direction": direction, "request": request, "pool": "full", "slots": slots}
        self._scene.journal.emit("transfer", action="begin", **transfer)
        self._scene.activity.transfers.setdefault(request, []).append(transfer)


def end_transfers(scene: Scene, request: str | None) -> None:
    """Nothing of this request is on its way any more."""
    for transfer in scene.activity.transfers.pop(request, ()) if request is not None else ():
        scene.journal.emit("transfer", action="end", **transfer)
