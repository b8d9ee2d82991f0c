"""What a client or the scheduler decides about a request, on the host: aborts and chunks of a prompt, as notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from speckv_debug.collectors.around import Around
from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.journal import PREPARE
from speckv_debug.collectors.sglang.requests import committed_of, request_id
from speckv_debug.collectors.sglang.scene import Scene

ARRIVE = Target(
    "arrive", (f"{targets.SCHEDULER}:Scheduler.process_input_requests",), parameters=("recv_reqs",)
)
CHUNK = Target("chunk", (f"{targets.SCHEDULER}:Scheduler.stash_chunked_request",), parameters=("req",))


class NoticeHooks:
    """What arrives, and `stash_chunked_request`; what they lead to is recorded as release, cache and lengths.

    `abort_request` itself is called through a table of bound methods that is made with the scheduler.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield ARRIVE, Around(self.arrive, takes="recv_reqs")
        yield CHUNK, self.chunk

    def methods(self) -> Iterator[Methods]:
        yield from ()

    def arrive(self, received: Any) -> None:
        """process_input_requests(recv_reqs): an abort hits all requests, or those whose id begins with `rid`."""
        for asked in received or ():
            if type(asked).__name__ == "AbortReq":
                whose = (
                    "all requests" if getattr(asked, "abort_all", False) else f"request {request_id(asked)}"
                )
                self._scene.journal.emit("note", level="info", text=f"abort of {whose} was asked for")

    def chunk(self, call: Call) -> Steps:
        """stash_chunked_request(req): a chunk of its prompt is done, the rest waits for a later step."""
        req = call["req"]
        done = f"{committed_of(req)} of {len(req.origin_input_ids)} tokens"
        text = f"prompt of request {request_id(req)} is in chunks: {done} done"
        with self._scene.journal.during(PREPARE):
            self._scene.journal.emit("note", level="info", text=text)
        yield
