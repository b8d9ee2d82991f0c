"""Standard output and error as every command needs them: any character, and a failed write is said."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import NoReturn, TextIO

from speckv_debug.errors import UsageError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class ClosedOutput(io.TextIOBase):
    """Standard output of a program that was started without one (`>&-`)."""

    def write(self, text: str) -> NoReturn:
        """Fail as the operating system would."""
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


class Narration(io.TextIOWrapper):
    """Standard error; what can't be written there is lost, and changes neither the answer nor the exit code."""

    def write(self, text: str) -> int:
        """Write, or drop it."""
        try:
            return super().write(text)
        except BlockingIOError:
            return len(text)
        except OSError:
            give_up(self)
            return len(text)

    def flush(self) -> None:
        """Write what is held, or drop it."""
        try:
            super().flush()
        except BlockingIOError:
            return
        except OSError:
            give_up(self)


def ready_streams() -> None:
    """Escape what the terminal's encoding lacks instead of failing; stand in for streams that are closed."""
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open to the end
    elif type(sys.stderr) is io.TextIOWrapper:
        sys.stderr = Narration(sys.stderr.buffer, encoding=sys.stderr.encoding, line_buffering=True)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def wants_color() -> bool:
    """Whether standard output is a terminal that shows colour, and nobody said NO_COLOR."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def give_up(stream: TextIO) -> None:
    """Throw away what a stream still holds, so that the interpreter's end doesn't try it again."""
    try:
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, stream.fileno())
        os.close(handle)
    except (OSError, ValueError):  # no file behind it: nothing will be tried again
        return


def mistake_of(error: OSError) -> UsageError:
    """What to tell people of a file or an output that the operating system refuses.

    A failed write carries no name: it is of standard output or of the file that the command writes.
    """
    _drop_what_fails_again()
    reason = error.strerror or str(error) or type(error).__name__
    named = error.filename2 if error.filename2 is not None else error.filename
    what = "the output can't be written" if named is None else os.fsdecode(named)
    needs = "Make room" if error.errno in NO_ROOM else "Check the permissions"
    return UsageError(f"{what}: {reason}", f"{needs}, or choose another place for the output.")


def _drop_what_fails_again() -> None:
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        give_up(sys.stdout)
