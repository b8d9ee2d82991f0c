"""Calls of an object that lives in a process of its own, so that long work never keeps the screen waiting.

The process is started with the first call, does one call after another, and ends with the one that started it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from multiprocessing import connection, get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from speckv_debug.errors import SpeckvError

OnTold = Callable[[Any], None]
TOLD, RESULT, REFUSED, FAILED = "share", "result", "refused", "failed"


class Cancelled(Exception):
    """The process was ended before it answered."""


class Caller(Protocol):
    """Where methods of an object can be called, wherever it lives."""

    def call(self, name: str, *args: object, on_told: OnTold = ...) -> Any:
        """The result of a method, as of `Apart`."""

    def cancel(self) -> None:
        """Give the running call up."""

    def begin(self) -> None:
        """Something will be called soon."""


class Within:
    """Calls of an object of this process, for what is asked of so little that a process of its own is not worth while.

    Args:
        make: Makes the object, at the first call.
    """

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make
        self._made: object | None = None
        self._turn = threading.Lock()

    def call(self, name: str, *args: object, on_told: OnTold = lambda what: None) -> Any:
        """The result of a method, as of `Apart`."""
        with self._turn:
            self._made = self._made or self._make()
            return getattr(self._made, name)(*args, on_told)

    def cancel(self) -> None:
        """It goes on to its end."""

    def begin(self) -> None:
        """Nothing has to be started."""

    def close(self) -> None:
        """Nothing runs."""


class Apart:
    """One process; calls from several threads wait for one another.

    Args:
        make: Makes the object, in that process; a function and arguments that can be pickled.
        nice: How much it gives way to others where processors are few (`os.nice`): keys come first.
    """

    def __init__(self, make: Callable[[], object], *, nice: int = 0) -> None:
        self._make, self._nice = make, nice
        resource_tracker.ensure_running()  # while stderr is a file: spawning needs it, and a running app has replaced it
        self._turn = threading.Lock()
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._closed = False

    def call(self, name: str, *args: object, on_told: OnTold = lambda what: None) -> Any:
        """The result of a method.

        Args:
            name: Of the method; its last argument is a function that may be told something.
            args: The others; can be pickled.
            on_told: Told what the method tells, such as which share is done.

        Raises:
            SpeckvError: As the method.
            Cancelled: `cancel` or `close` was called meanwhile, or the process died.
        """
        with self._turn:
            try:
                return self._ask(name, args, on_told)
            except (EOFError, OSError) as error:
                self._forget()
                raise Cancelled("the process of its own has ended") from error

    def begin(self) -> None:
        """Start the process, so that the first call need not wait for it; nothing where it is at work or closed."""
        if self._turn.acquire(blocking=False):
            try:
                self._there()
            except Cancelled:
                pass
            finally:
                self._turn.release()

    def cancel(self) -> None:
        """Give the running call up, the next one starts anew; without one what the process has worked out is kept."""
        process = self._process
        if self._turn.locked() and process is not None and process.is_alive():
            process.terminate()
            process.join(1)  # else the next call may still find it alive, and ask it

    def close(self) -> None:
        """Give the running call up, and all that wait or follow."""
        self._closed = True
        process = self._process
        if process is not None and process.is_alive():
            process.terminate()  # who leaves need not wait until it is gone

    def _ask(self, name: str, args: tuple[object, ...], on_told: OnTold) -> Any:
        there = self._there()
        there.send((name, args))
        while True:
            kind, value = there.recv()
            if kind == TOLD:
                self._tell(on_told, value)
            elif kind == RESULT:
                return value
            elif kind == REFUSED:
                raise value
            else:
                raise RuntimeError(value)

    def _tell(self, on_told: OnTold, what: object) -> None:
        try:
            on_told(what)
        except BaseException:
            if self._process is not None:
                self._process.terminate()
            self._forget()  # else what is still on its way is taken for the answer to the next call
            raise

    def _there(self) -> Connection:
        if self._closed:
            raise Cancelled("nothing more is asked")
        if self._connection is None or self._process is None or not self._process.is_alive():
            self._forget()
            context = get_context("spawn")
            self._connection, other = context.Pipe()
            self._process = context.Process(target=_serve, args=(other, self._make, self._nice), daemon=True)
            self._process.start()
            other.close()
        return self._connection

    def _forget(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.join(1)
        self._connection = self._process = None


def _serve(there: Connection, make: Callable[[], object], nice: int) -> None:
    """Runs in the process of its own; nothing that is printed there may reach the screen."""
    os.nice(nice)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    made: object | None = None
    while True:
        try:
            name, args = there.recv()
        except EOFError:
            return
        try:
            made = make() if made is None else made
            there.send((RESULT, getattr(made, name)(*args, lambda what: there.send((TOLD, what)))))
        except SpeckvError as error:
            there.send((REFUSED, error))
        except Exception as error:  # noqa: BLE001  a fault here must not take the screens away
            there.send((FAILED, f"{type(error).__name__}: {error}"))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
