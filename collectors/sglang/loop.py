"""The scheduler's loop: which step it is, what is prepared, launched, processed, and the quiet points between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from speckv_debug.collectors.around import Around
from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.journal import FORWARD, PREPARE, SETTLE
from speckv_debug.collectors.sglang.levels import DETAILED
from speckv_debug.collectors.sglang.pool_account import PoolAccount, columns, of_window
from speckv_debug.collectors.sglang.references import counted
from speckv_debug.collectors.sglang.requests import NO_BATCH, Batch, Identity
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.staging import send, send_hurried

REMEMBERED_RESULTS = 64
CRASH_CLOSE_S = 2.0
"""How long an engine that crashes may wait for its recording; what is spooled stays readable anyway."""


class ResultSteps:
    """The launch that each result in flight belongs to: under overlap it is processed one step later."""

    def __init__(self) -> None:
        self._launches: dict[int, tuple[int, Batch]] = {}

    def remember(self, result: Any, step: int, whose: Batch = NO_BATCH) -> None:
        """Note the step that made a result, and the requests in their rows as they were launched."""
        launches, key = self._launches, id(result)
        launches.pop(key, None)
        launches[key] = (step, whose)
        if len(launches) > REMEMBERED_RESULTS:
            del launches[next(iter(launches))]

    def launch_of(self, result: Any) -> tuple[int | None, Batch | None]:
        """The step that made the result and all requests in their rows as it was launched, None if unknown."""
        return self._launches.get(id(result), (None, None))

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
        self._counts = scene.level >= DETAILED
        self._speculates = scene.engine.algorithm is not None
        self._account = PoolAccount(scene.engine)

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield targets.NEXT_BATCH, self._during(PREPARE)
        yield targets.ADMIT, self.admit
        yield targets.ADMIT_CHUNK, self.admit
        yield targets.RUN_BATCH, Around(self.launching, self.launched, self.broke_off, takes="batch")
        yield targets.PROCESS_RESULT, self._during(SETTLE)
        yield targets.ON_IDLE, self.on_idle
        yield targets.EVENT_LOOP, self.event_loop

    def methods(self) -> Iterator[Methods]:
        yield from ()

    def _during(self, phase: str) -> Around:
        """All of the function belongs to a phase, except what settles a request."""
        phases = self._scene.journal.phases
        return Around(lambda call: phases.append(phase), lambda *_: phases.pop(), lambda _: phases.pop())

    def admit(self, call: Call) -> Steps:
        """PrefillAdder.add_one_req(req, …): takes the locks of the request's prefix."""
        with self._scene.activity.working_on(self._scene.rows.identity(call["req"])):
            yield

    def launching(self, batch: Any) -> Any:
        """run_batch(batch): everything is prepared, nothing launched: a quiet point."""
        scene = self._scene
        journal, activity = scene.journal, scene.activity
        if not journal.is_live:
            scene.ended()
            return None
        journal.launched += 1
        if self._counts:
            self.pool_stat()
        identities = scene.rows.batch(batch.reqs or ())
        activity.in_round[0] = self._speculates and batch.forward_mode.is_decode()
        journal.phases.append(FORWARD)
        activity.batches.append((batch, identities))
        return identities

    def launched(self, identities: Any, result: Any) -> None:
        """Behind it: under overlap its result is processed one step later."""
        if identities is not None:
            self.broke_off(identities)
            self._results.remember(result, self._scene.journal.launched, identities)
            send_hurried()

    def broke_off(self, identities: Any) -> None:
        """Back to what was before the launch."""
        if identities is not None:
            activity = self._scene.activity
            self._scene.journal.phases.pop()
            activity.batches.pop()
            activity.in_round[0] = False

    def on_idle(self, call: Call) -> Steps:
        """on_idle() runs at every empty turn of the loop, and may raise for a leak: record the pools before."""
        now = (self._scene.journal.launched, self._scene.engine.available)
        if now != self._settled_at:
            self._settled_at = now
            self.pool_stat()
            self._scene.rows.forget()
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
        self._scene.journal.defer("pool_stat", 1, None, columns, *self._account.figures())
        engine = self._scene.engine
        if engine.has_window and not engine.shares_memory:
            self._scene.journal.emit("pool_stat", **of_window(engine))
        if engine.counts_references:
            self._scene.journal.emit("pool_stat", **counted(engine))
