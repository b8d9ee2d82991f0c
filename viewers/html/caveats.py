"""What of a table is missing, so that no figure takes what is there for all there was."""

from __future__ import annotations

from collections.abc import Iterator

from speckv_debug.recording.problem import ProblemKind
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.viewers.html.chart import words
from speckv_debug.viewers.html.markup import Html


def caveats(process: ProcessRecording, *tables: str) -> Iterator[Html]:
    """A line under figures of these tables where rows of them are missing, were left out or were never recorded."""
    if missing := [table for table in tables if lacks(process, table)]:
        verb = "was" if len(missing) == 1 else "were"
        yield words(f"{' and '.join(missing)} {verb} not recorded whole: the numbers are of what is there.")


def lacks(process: ProcessRecording, table: str) -> bool:
    """Whether rows of a table may be missing; drops are no table that a process promises to record."""
    if any(table in each.tables or each.kind is ProblemKind.MISSING_END for each in process.problems):
        return True
    whole = {name.partition(":")[0] for name in process.recorded_whole}
    return table != "drop" and table not in whole
