"""A program in a pseudo terminal, and what stands on its screen after each frame.

It understands what Textual writes: cursor moves, text, the marks around a frame. Colours are passed over.
"""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Sequence

from rich.cells import cell_len

TOKEN = re.compile(
    r"\x1b\[([<=>?]?)([0-9;]*)[ $]?([@-~])|\x1b[PX^_\]].*?(?:\x07|\x1b\\)|\x1b[^\[]|([^\x1b\x00-\x1f]+)|[\x00-\x1a\x1c-\x1f]"
)
KEYS = {"enter": "\r", "escape": "\x1b", "f1": "\x1bOP", "pagedown": "\x1b[6~", "pageup": "\x1b[5~"}
MODES = {"2026": "\x1b[?2026;1$y"}
"""Questions of the program that are answered: yes, frames may be marked."""


class PtyScreen:
    """The program; `lines` is its screen as of the last whole frame."""

    def __init__(self, command: Sequence[str], columns: int, rows: int) -> None:
        self.began = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if not self.pid:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
            os.execvp(command[0], command)
        self._cells = [[" "] * columns for _ in range(rows)]
        self._at = [0, 0]
        self._rest, self._text = "", codecs.getincrementaldecoder("utf-8")("replace")
        self._drawing = False
        self.lines: list[str] = [" " * columns] * rows
        self.written = 0

    def press(self, key: str) -> float:
        """Type a key; when it was typed."""
        os.write(self._fd, KEYS.get(key, key).encode())
        return time.perf_counter()

    def until(self, seen: Callable[[list[str]], bool], patience_s: float) -> float | None:
        """When a whole frame came that `seen` accepts, at once if it stands there; None if none came."""
        end = time.perf_counter() + patience_s
        came = time.perf_counter()
        while True:
            if not self._drawing and seen(self.lines):
                return came
            left = end - time.perf_counter()
            if left <= 0 or not select.select([self._fd], [], [], left)[0]:
                return None
            try:
                chunk = os.read(self._fd, 1 << 20)
            except OSError:
                return None
            came = time.perf_counter()
            self.written += len(chunk)
            self._take(self._rest + self._text.decode(chunk))

    def close(self) -> None:
        """End the program and all that it started."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._fd)

    def _take(self, text: str) -> None:
        escape = text.rfind("\x1b")
        whole = len(text) if escape < 0 or TOKEN.match(text, escape) else escape
        self._rest, at = text[whole:], 0
        while at < whole and (token := TOKEN.match(text, at)):
            at = token.end()
            self._draw(token)
        if not self._drawing:
            self.lines = ["".join(line) for line in self._cells]

    def _draw(self, token: re.Match[str]) -> None:
        kind, numbers, final, words = token.groups()
        if words is not None:
            self._write(words)
        elif final == "H":
            row, column = (int(number or 1) for number in (numbers or "1;1").split(";"))
            self._at = [row - 1, column - 1]
        elif kind == "?" and numbers == "2026" and final in "hl":
            self._drawing = final == "h"
        elif kind == "?" and final == "p" and numbers in MODES:
            os.write(self._fd, MODES[numbers].encode())

    def _write(self, words: str) -> None:
        row, column = self._at
        if row < len(self._cells):
            line = self._cells[row]
            for sign in words:
                if column < len(line):
                    line[column] = sign
                for behind in range(column + 1, min(len(line), column + cell_len(sign))):
                    line[behind] = ""
                column += cell_len(sign)
        self._at[1] = column
