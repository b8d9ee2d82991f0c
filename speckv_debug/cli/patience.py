"""Ctrl-C while a module is imported waits until the import is over.

C code that is just being set up aborts the process, or makes another error of it, where Python raises in its middle.
"""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType

from speckv_debug.exit_codes import ExitCode

IMPORTING = "<frozen importlib._bootstrap>"
AGAIN_S = 0.002
"""How often it is looked whether the import is over."""
LINE = "speckv-debug: interrupted"


class PatientInterrupts:
    """While it is entered, Ctrl-C raises `KeyboardInterrupt` outside of imports only, at its end at the latest.

    A second Ctrl-C during an import ends the process at once. Where Ctrl-C is ignored or handled by somebody else, or the
    alarm is taken, and in other threads than the main one, nothing is changed.
    """

    def __init__(self) -> None:
        self._waits = self._entered = False

    def __enter__(self) -> None:
        taken = signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL
        if taken or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return
        try:
            signal.signal(signal.SIGINT, self._asked)
        except ValueError:  # not the main thread
            return
        signal.signal(signal.SIGALRM, self._looks)
        self._entered = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._entered:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._waits:
            raise KeyboardInterrupt

    def _asked(self, number: int, frame: FrameType | None) -> None:
        if self._waits:
            os.write(2, f"{LINE}\n".encode())
            os._exit(ExitCode.INTERRUPTED)
        self._looks(number, frame)

    def _looks(self, number: int, frame: FrameType | None) -> None:
        self._waits = _imports(frame)
        if not self._waits:
            raise KeyboardInterrupt
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)


def usual_interrupts() -> None:
    """From now on Ctrl-C is what Python makes of it: an event loop that follows has a handler of its own."""
    if isinstance(getattr(signal.getsignal(signal.SIGINT), "__self__", None), PatientInterrupts):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == IMPORTING:
            return True
        frame = frame.f_back
    return False
