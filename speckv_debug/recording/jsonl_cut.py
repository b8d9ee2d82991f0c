"""A piece of a recording as JSON Lines: the events around one, small enough to be pasted into an issue."""

from __future__ import annotations

import io

from speckv_debug.recording.jsonl_export import header, lines_of, write_line
from speckv_debug.recording.process_recording import ProcessRecording
from speckv_debug.recording.stream import batches_of


def cut_jsonl(process: ProcessRecording, first_seq: int, last_seq: int, most: int) -> str:
    """The process line and the events of `[first_seq, last_seq]`; `import` makes a recording of it.

    The process line says that the recording does not begin with the process, so that nothing before the cut is taken for known.

    Args:
        process: The process.
        first_seq: First event.
        last_seq: Last event, included.
        most: Characters at most: later events are left out.
    """
    out = io.StringIO()
    write_line(out, header("process", {**process.info.raw, "from_start": False}))
    pieces = {name: process.pieces(name) for name in process.files}
    for batch in batches_of(pieces, 4096, first_seq, last_seq):
        for line in lines_of(batch):
            before = out.tell()
            write_line(out, line)
            if out.tell() > most:
                return out.getvalue()[:before]
    return out.getvalue()
