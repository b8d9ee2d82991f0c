"""A piece of a recording as JSON Lines: the events around one, small enough to be pasted into an issue."""

from __future__ import annotations

import io
from dataclasses import dataclass

from speckv_debug.recording.jsonl_export import header, lines_of, readable, write_line
from speckv_debug.recording.process_recording import ProcessRecording
from speckv_debug.recording.stream import batches_of


@dataclass(frozen=True, slots=True)
class Cut:
    """A piece of a recording.

    Attributes:
        text: JSON Lines: the process, then events.
        left_out: How many of the last events did not fit.
    """

    text: str
    left_out: int


def cut_jsonl(process: ProcessRecording, first_seq: int, last_seq: int, most: int) -> Cut:
    """The process line and the events of `[first_seq, last_seq]`; `import` makes a recording of it.

    The process line says that the recording neither begins nor ends with the process: nothing before the cut is taken for
    known, and nothing is missed that a step behind it would have done.

    Args:
        process: The process.
        first_seq: First event.
        last_seq: Last event, included.
        most: Characters at most: later events are left out.
    """
    out, left_out = io.StringIO(), 0
    write_line(out, header("process", {**readable(process), "from_start": False, "clean_shutdown": False}))
    pieces = {name: process.pieces(name) for name in process.files}
    for batch in batches_of(pieces, 4096, first_seq, last_seq):
        for line in lines_of(batch):
            before = out.tell()
            if not left_out:
                write_line(out, line)
            if left_out or out.tell() > most:
                left_out += 1
                out.truncate(before)
    return Cut(out.getvalue(), left_out)
