"""The scheduler's loop: which step it is, what is prepared, launched, processed, and the quiet points between."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.journal import FORWARD, PREPARE, SETTLE
from speckv_debug.collectors.sglang.requests import NO_BATCH, Batch, Identity
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.sglang.sessions import held_by_sessions
from speckv_debug.collectors.staging import send

REMEMBERED_RESULTS = 64
CRASH_CLOSE_S = 2.0
"""How long an engine that crashes may wait for its recording; what is spooled stays readable anyway."""


class ResultSteps:
    """The launch that each result in flight belongs to: under overlap it is processed one step later."""

    def __init__(self) -> None:
        self._launches: OrderedDict[int, tuple[int, Batch]] = OrderedDict()

    def remember(self, result: Any, step: int, whose: Batch = NO_BATCH) -> None:
        """Note the step that made a result, and the requests in their rows as they were launched."""
        self._launches[id(result)] = (step, whose)
        self._launches.move_to_end(id(result))
        while len(self._launches) > REMEMBERED_RESULTS:
            self._launches.popitem(last=False)

    def step_of(self, result: Any) -> int | None:
        """The step that made the result, None if unknown."""
        return self._launches.get(id(result), (None, NO_BATCH))[0]

    def batch_of(self, result: Any) -> Batch | None:
        """All requests in their rows as the result was launched, None if unknown."""
        return self._launches.get(id(result), (None, None))[1]

    def launched_as(self, result: Any, request: str | None) -> Identity | None:
        """The request in the row that it had when the result was launched, None if unknown."""
        _, whose = self._launches.get(id(result), (None, NO_BATCH))
        return next((who for who in whose if who.request == request), None)


class LoopHooks:
    """Methods of the scheduler itself."""

    def __init__(self, scene: Scene, results: ResultSteps) -> None:
        self._scene = scene
        self._results = results
        self._settled_at: tuple[int, int] | None = None
        self._total, tree = scene.engine.slots, scene.engine.tree
        swa = tree.supports_swa()
        self._evictable = tree.full_evictable_size if swa else tree.evictable_size
        self._protected = tree.full_protected_size if swa else tree.protected_size

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield targets.NEXT_BATCH, self.next_batch
        yield targets.ADMIT, self.admit
        yield targets.ADMIT_CHUNK, self.admit
        yield targets.RUN_BATCH, self.run_batch
        yield targets.PROCESS_RESULT, self.process_result
        yield targets.ON_IDLE, self.on_idle
        yield targets.EVENT_LOOP, self.event_loop

    def methods(self) -> Iterator[Methods]:
        yield from ()

    def next_batch(self, call: Call) -> Steps:
        """get_next_batch_to_run(): all of it prepares the next step, except what settles a request."""
        with self._scene.journal.during(PREPARE):
            yield

    def admit(self, call: Call) -> Steps:
        """PrefillAdder.add_one_req(req, …): takes the locks of the request's prefix."""
        with self._scene.activity.working_on(self._scene.rows.identity(call["req"])):
            yield

    def run_batch(self, call: Call) -> Steps:
        """run_batch(batch): everything is prepared, nothing launched: a quiet point."""
        journal, batch = self._scene.journal, call["batch"]
        if not journal.is_live:
            self._scene.ended()
            yield
            return
        journal.launched += 1
        self.pool_stat()
        identities = self._scene.rows.batch(batch.reqs or ())
        with journal.during(FORWARD), self._scene.activity.running(batch, identities):
            result = yield
        self._results.remember(result, journal.launched, identities)
        send()

    def process_result(self, call: Call) -> Steps:
        with self._scene.journal.during(SETTLE):
            yield

    def on_idle(self, call: Call) -> Steps:
        """on_idle() runs at every empty turn of the loop, and may raise for a leak: record the pools before."""
        now = (self._scene.journal.launched, int(self._scene.engine.allocator.available_size()))
        if now != self._settled_at:
            self._settled_at = now
            self.pool_stat()
            send()
            self._scene.journal.sink.flush_soon()
        yield

    def event_loop(self, call: Call) -> Steps:
        """run_event_loop(): after an exception the parent kills this process, so the recording is closed at once."""
        try:
            yield
            send()
        except Exception as error:
            sink, step = self._scene.journal.sink, self._scene.journal.launched
            sink.note(
                f"the scheduler's loop ended: {type(error).__name__}: {error}", level="error", step=step
            )
            with suppress(Exception):  # the device may be what failed
                send()
            sink.close(CRASH_CLOSE_S)
            raise

    def pool_stat(self) -> None:
        """The engine's own account, all on the host."""
        engine = self._scene.engine
        self._scene.journal.emit(
            "pool_stat",
            pool="full",
            available=engine.available,
            evictable=int(self._evictable()),
            protected=int(self._protected()),
            session=held_by_sessions(engine),
            total=self._total,
        )
