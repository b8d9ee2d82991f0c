"""Where the stream of a killed process ends: a flush that was interrupted leaves holes, which are no loss."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from speckv_debug.recording.table_files import TableFiles, seq_of


def unfinished_tail(files: Mapping[str, TableFiles]) -> int | None:
    """The seq from which on events must be left out, or None.

    A flush writes one batch a table. If the process dies between two of them, later events are there
    while earlier ones are not. All of them lie in the last batch of their table's spool, behind every
    event of the flushes before: the stream ends at the first hole behind those.
    """
    last = [seq_of(each.spool.batches[-1]) for each in files.values() if each.spool.batches]
    if not last:
        return None
    settled = max((_settled(each) for each in files.values()), default=-1)
    late = np.unique(np.concatenate(last))
    late = late[late > settled]
    if not len(late):
        return None
    start = late[0] if settled < 0 else settled + 1
    wrong = np.flatnonzero(late != np.arange(start, start + len(late)))
    return int(start + wrong[0]) if len(wrong) else None


def _settled(files: TableFiles) -> int:
    earlier = [int(seq_of(batch).max()) for batch in files.spool.batches[:-1] if batch.num_rows]
    return max([part.last for part in files.parts] + earlier, default=-1)
