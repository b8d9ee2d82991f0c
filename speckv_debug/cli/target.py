"""Start the program that `record` was given, pass signals on to it, wait for its end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Self

from speckv_debug.errors import UsageError
from speckv_debug.model.text import printable

PASSED_ON = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
WATCHED = (*PASSED_ON, signal.SIGCHLD)
RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that Python ignores and that a program expects at their default."""
FROM_KERNEL = 0x80
"""`si_code` of a signal that no process sent (Linux SI_KERNEL): Ctrl-C, Ctrl-\\ or a closed terminal."""


class Target:
    """A running program whose signals are ours to pass on; use as a context manager.

    From start to end of the block the signals of `PASSED_ON` are held back from this process, so
    none of them can end it before the program has ended.

    Raises:
        UsageError: The program can't be started.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
        self._on_child = signal.signal(signal.SIGCHLD, lambda number, frame: None)
        try:
            self._pid = os.posix_spawnp(
                command[0], list(command), environment, setsigmask=self._mask, setsigdef=RESTORED
            )
        except (OSError, ValueError) as error:
            self._give_back_signals()
            reason = getattr(error, "strerror", None) or str(error)
            what = f"can't start {printable(command[0]) or 'the empty name'}: {reason}"
            raise UsageError(what, "Check the command after --.") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._give_back_signals()

    def wait(self) -> int:
        """Pass signals on until the program ends; its exit code, or 128+n when signal n ended it."""
        while True:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                return 128 - code if code < 0 else code
            number, program_has_it = _next_signal()
            if number in PASSED_ON and not program_has_it:
                os.kill(self._pid, number)

    def _give_back_signals(self) -> None:
        for number in signal.sigpending() & set(WATCHED):
            signal.sigwait({number})
        signal.signal(signal.SIGCHLD, self._on_child)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)


def _next_signal() -> tuple[int, bool]:
    """The next signal, and whether the terminal sent it, which reaches the program without our help."""
    if sys.platform == "darwin":
        return signal.sigwait(WATCHED), _in_foreground()
    info = signal.sigwaitinfo(WATCHED)
    return info.si_signo, info.si_code == FROM_KERNEL


def _in_foreground() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False
