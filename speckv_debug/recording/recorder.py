"""What a collector records with: `emit` costs the engine a lock and an append, a thread does the rest."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from multiprocessing.util import Finalize
from numbers import Integral
from pathlib import Path
from typing import Any

from speckv_debug.recording.atomic import write_json
from speckv_debug.recording.blocks import Block
from speckv_debug.recording.limits import Limits
from speckv_debug.recording.manifest import PROCESS, create_manifest
from speckv_debug.recording.process_file import label_of
from speckv_debug.recording.writer import Entry, Writer

__all__ = ["Limits", "Recorder"]

log = logging.getLogger("speckv_debug")
CLOSE_TIMEOUT_S = 30.0
_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()


class Recorder:
    """Records the events of this process into its own folder of a recording.

    The recording's folder and manifest are made if missing; several processes may share one. Nothing
    is recorded in a forked child: it would need a Recorder of its own.

    Args:
        out: The recording.
        process: Content of process.json: engine, rank, pools, settings, hooks, tables, … (the handshake).
        limits: When to end by itself.
        queue_rows: Events that may wait for the writer thread; beyond, they are dropped and counted.
        flush_s: How often waiting events go to the spool, seconds.
        seal_s: How long rows stay in the spool before they become a Parquet part, seconds; a few rows longer.

    Raises:
        OSError: The folder can't be written.
    """

    def __init__(
        self,
        out: str | os.PathLike[str],
        process: Mapping[str, Any],
        *,
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        queue_rows: int = 131_072,
        flush_s: float = 0.25,
        seal_s: float = 5.0,
    ) -> None:
        out = Path(out)
        create_manifest(out)
        self._pid = os.getpid()
        self._info = {"pid": self._pid, **process, "started_ns": time.time_ns(), "clean_shutdown": False}
        self.folder = _claim_folder(out, label_of(self._info))
        self._lock = threading.RLock()
        self._info_lock = threading.RLock()
        self._queue: deque[Entry] = deque()
        self._room, self._half = queue_rows, queue_rows // 2
        self._seq = 0
        self._lost: dict[str, int] = {}
        self._steps_left = limits.steps
        self._last_step: int | None = None
        self._active = True
        write_json(self.folder / PROCESS, self._info)
        self._writer = Writer(self.folder, self._queue, self._finish, flush_s=flush_s, seal_s=seal_s)
        self._writer.limit_size(limits.max_bytes, self._end)
        self._writer.say = self._remark
        _recorders.add(self)
        atexit.register(self.close)
        self._at_exit = Finalize(None, self.close, exitpriority=0)  # a multiprocessing child skips atexit
        self._writer.start()

    @property
    def active(self) -> bool:
        """False after `close`, after a limit was reached, and in a forked child."""
        return self._active

    @property
    def label(self) -> str:
        """The process's label in the recording."""
        return self.folder.name

    def emit(self, table: str, /, **columns: Any) -> None:
        """Record one event; never blocks, never raises.

        Args:
            table: Name of the event table.
            columns: The schema's columns. Lists (list, tuple, 1-D integer array) must be snapshots, or
                objects with `resolve()` that the writer thread calls, in order.
        """
        if not self._active:
            return
        try:
            with self._lock:
                over = self._steps_left is not None and self._over(columns.get("step"))
                if self._active and not over:
                    self._put(table, columns)
        except Exception:  # an engine must never see a fault of its recorder
            self._active = False
            log.exception("speckv-debug: recording ended")

    def emit_rows(self, table: str, rows: int, columns: dict[str, Any]) -> None:
        """Record consecutive events of one table in one call; never blocks, never raises.

        Args:
            table: Name of the event table.
            rows: How many events; none is no event.
            columns: The schema's columns: `Each` or `Cut` where rows differ, else one value for all. What they
                hold must be snapshots, or objects with `resolve()` that the writer thread calls, in order; the
                mapping itself is the recorder's from now on.
        """
        if not self._active or not rows:
            return
        try:
            with self._lock:
                over = self._steps_left is not None and self._over(columns.get("step"))
                if self._active and not over:
                    self._put_rows(Block(table, rows, columns))
        except Exception:  # an engine must never see a fault of its recorder
            self._active = False
            log.exception("speckv-debug: recording ended")

    def defer(
        self,
        table: str,
        rows: int,
        step: int,
        lane: str | None,
        awaited: Any,
        make: Callable[..., dict[str, Any]],
        given: tuple[Any, ...],
    ) -> None:
        """As `emit_rows`, but the writer thread makes the columns: the cheapest way for what happens in every step.

        Args:
            table: Name of the event table.
            rows: How many events.
            step: The column `step`.
            lane: The column `lane`.
            awaited: Has `ready()`, which the writer asks until it is true; None if nothing has to be waited for.
            make: Gives the other columns, as `emit_rows` takes them; what it raises is a drop of these events.
            given: Its arguments.
        """
        if not self._active or not rows:
            return
        try:
            with self._lock:
                over = self._steps_left is not None and self._over(step)
                if (
                    self._active
                    and not over
                    and (len(self._queue) < self._half or self._has_room(table, rows))
                ):
                    if self._lost:
                        self._put_drops()
                    t_ns = time.time_ns()
                    self._queue.append((table, (rows, self._seq, t_ns, step, lane, awaited, make, given)))
                    self._seq += rows
        except Exception:  # an engine must never see a fault of its recorder
            self._active = False
            log.exception("speckv-debug: recording ended")

    def note(self, text: str, *, level: str = "info", step: int | None = None) -> None:
        """Record a remark."""
        self.emit("note", level=level, text=text, step=step)

    def update_process(self, **fields: Any) -> None:
        """Merge into process.json and replace it at once; an object is merged key by key."""
        if os.getpid() != self._pid:
            return
        with self._info_lock:
            for key, value in fields.items():
                old = self._info.get(key)
                if isinstance(old, Mapping) and isinstance(value, Mapping):
                    value = {**old, **value}
                self._info[key] = value
            try:
                write_json(self.folder / PROCESS, self._info)
            except (OSError, ValueError, RecursionError) as error:
                self.note(f"process.json could not be updated: {error}", level="error")

    def flush_soon(self) -> None:
        """Let the writer spool what waits now instead of at its next turn; returns at once."""
        self._writer.wake.set()

    def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Drain, seal, mark the process's end as clean; may be called again.

        Args:
            timeout_s: How long to wait for that, seconds; the writer thread goes on behind it.
        """
        if os.getpid() != self._pid:
            return
        self._end(None)
        atexit.unregister(self.close)
        self._at_exit.cancel()
        if threading.current_thread() is not self._writer.thread:
            self._writer.thread.join(timeout_s)

    def _put(self, table: str, columns: dict[str, Any]) -> None:
        if not self._has_room(table, 1):
            return
        columns["seq"] = self._seq
        if columns.get("t_ns") is None:
            columns["t_ns"] = time.time_ns()
        self._queue.append((table, columns))
        self._seq += 1

    def _put_rows(self, block: Block) -> None:
        if not self._has_room(block.table, block.rows):
            return
        block.seq = self._seq
        block.columns["t_ns"] = time.time_ns()
        self._queue.append((block.table, block))
        self._seq += block.rows

    def _has_room(self, table: str, rows: int) -> bool:
        """Whether another entry may wait for the writer; what may not is counted."""
        if (waiting := len(self._queue)) >= self._room:
            self._lost[table] = self._lost.get(table, 0) + rows
            return False
        if self._lost:
            self._put_drops()
        if waiting == self._half:
            self._writer.wake.set()
        return True

    def _put_drops(self) -> None:
        """Say what was lost at the place where it was lost."""
        lost, self._lost = self._lost, {}
        for table, rows in lost.items():
            drop = {"table": table, "rows": rows, "why": "the recorder's queue was full"}
            self._queue.append(("drop", {"seq": self._seq, "t_ns": time.time_ns(), **drop}))
            self._seq += 1

    def _over(self, step: Any) -> bool:
        """Count engine steps; True once the event belongs to a step that is one too many."""
        if not isinstance(step, Integral) or (self._last_step is not None and step <= self._last_step):
            return False
        self._last_step = int(step)
        assert self._steps_left is not None
        self._steps_left -= 1
        if self._steps_left >= 0:
            return False
        self._end("the limit of steps was reached")
        return True

    def _end(self, why: str | None) -> None:
        with self._lock:
            if not self._active:
                return
            if self._lost:
                self._put_drops()
            if why:
                self._put("note", {"level": "info", "text": f"recording ended: {why}; the program goes on"})
            self._active = False
        self._writer.ending = True
        self._writer.wake.set()

    def _remark(self, text: str, *, level: str) -> None:
        """A note of the writer's own: it has room even when the recording is being closed."""
        with self._lock:
            note = {"level": level, "text": text}
            self._queue.append(("note", {"seq": self._seq, "t_ns": time.time_ns(), **note}))
            self._seq += 1

    def _finish(self, failure: str | None) -> None:
        """Called by the writer thread when everything is sealed, or when it had to give up."""
        with self._lock:
            self._active = False
            self._queue.clear()  # after a failure: nobody resolves what waits, and it may hold device memory
        end = {"ended_ns": time.time_ns(), "events": self._seq, "clean_shutdown": failure is None}
        self.update_process(**end, **({"failure": failure} if failure else {}))

    def _forget(self) -> None:
        """In a forked child: the thread is not here, the files are the parent's."""
        self._active = False
        self._lock = threading.RLock()
        self._info_lock = threading.RLock()
        self._queue = deque()


def _claim_folder(out: Path, label: str) -> Path:
    for number in range(10_000):
        folder = out / (f"{label}-{number}" if number else label)
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(f"{out}: every name for {label} is taken")


def _after_fork_in_child() -> None:
    for recorder in list(_recorders):
        recorder._forget()


os.register_at_fork(after_in_child=_after_fork_in_child)
