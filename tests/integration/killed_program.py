"""What `test_kill.py` kills: records at a steady pace and counts, in a file of its own, what it recorded.

Each line of the count is `time.monotonic_ns()` and how many events were emitted by then. OUT and COUNT, the
recording and that file, are set by who runs this.
"""

import os
import time
from pathlib import Path

from speckv_debug.recording.recorder import Recorder

TABLES = ("alloc", "free", "forward", "accept", "note")
PACE_S = 0.002


def run(out: Path, count: Path) -> None:
    """Emit until killed; sealing often, so that a kill also hits the moment between part and spool."""
    recorder = Recorder(out, {"engine": "killed", "tables": list(TABLES), "from_start": True}, seal_s=0.05)
    counter = os.open(count, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    events = 0
    while True:
        for table in TABLES[: 1 + events % len(TABLES)]:
            recorder.emit(table, step=events)
            events += 1
        os.write(counter, f"{time.monotonic_ns()} {events}\n".encode())
        time.sleep(PACE_S)


if __name__ == "__main__":
    run(OUT, COUNT)  # type: ignore[name-defined] # noqa: F821
