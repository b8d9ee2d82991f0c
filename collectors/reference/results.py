"""What the host does when a step's result arrives: commit, append, end requests."""

from __future__ import annotations

from speckv_debug.collectors.reference.allocator import PageAllocator
from speckv_debug.collectors.reference.batch import Result
from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.prefilling import Prefilling
from speckv_debug.collectors.reference.releasing import Releasing
from speckv_debug.collectors.reference.request import Request


class Results:
    """Processes results, under overlap one step after their launch."""

    def __init__(
        self, allocator: PageAllocator, prefilling: Prefilling, releasing: Releasing, observer: Observer
    ) -> None:
        """Work on the engine's parts."""
        self.allocator, self.prefilling, self.releasing = allocator, prefilling, releasing
        self._observer = observer

    def process(self, result: Result) -> None:
        """Apply a result; one that is late, for a request that ended or was retracted, is dropped."""
        if result.batch.kind == "prefill":
            self._process_prefill(result)
        else:
            self._process_verify(result)

    def is_late(self, request: Request) -> bool:
        """The request has no row any more that the result could belong to."""
        return request.ended is not None or request.retracted

    def commit(self, request: Request, count: int, step: int) -> None:
        """Count `count` more positions as valid."""
        request.committed += count
        self._observer.emit(
            "lengths",
            step=step,
            **request.identity,
            pool="full",
            committed=request.committed,
            allocated=request.allocated,
            cause="verify_commit",
        )

    def _process_prefill(self, result: Result) -> None:
        for chunk, tokens in zip(result.batch.chunks, result.tokens, strict=True):
            request = chunk.request
            if not chunk.last or self.is_late(request):
                continue
            request.output.extend(tokens)
            if self._has_ended(request):
                self.releasing.end(request)
            else:
                self.prefilling.keep(request)

    def _process_verify(self, result: Result) -> None:
        rows = zip(result.batch.requests, result.tokens, result.accept_lens, strict=True)
        ended = []
        for request, tokens, count in rows:
            if self.is_late(request):
                continue
            request.output.extend(tokens)
            self.commit(request, count, result.step)
            if self._has_ended(request):
                ended.append(request)
        if ended:
            with self.allocator.free_group():
                for request in ended:
                    self.releasing.end(request)

    def _has_ended(self, request: Request) -> bool:
        if request.aborting or request.is_done:
            request.ended = "abort" if request.aborting and not request.is_done else "finish"
        return request.ended is not None
