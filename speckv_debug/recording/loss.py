"""What a process's recording lacks, in words and as spans."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from speckv_debug.model.text import amount, plural
from speckv_debug.recording.problem import Problem, ProblemKind
from speckv_debug.recording.schema import TABLES
from speckv_debug.recording.table_files import TableFiles, seq_of

if TYPE_CHECKING:
    from speckv_debug.recording.process_recording import ProcessRecording

UNREAD = (ProblemKind.DAMAGED_PART, ProblemKind.DAMAGED_COLUMN)


def problems_of(process: ProcessRecording) -> tuple[Problem, ...]:
    """Damaged parts, torn spools, unusable columns, drops, a missing end, events behind the last one that is there."""
    found: list[Problem] = []
    for files in process.files.values():
        found += [_damaged_part(process, files, path) for path in sorted(files.damaged)]
        found += _torn_spool(process, files)
        found += _misfits(process, files)
    return (*found, *_dropped(process), *_missing_end(process), *_lost_end(process))


def recorded_whole(process: ProcessRecording) -> tuple[str, ...]:
    """The entries of `tables` (a table, or `table:kind`) whose files could be read whole, as far as they were read.

    Rows that were dropped are told by the drop table, a missing end by `clean_shutdown`; damage by nothing else. Events that
    are missing although no file is damaged may be those of a table that is gone.
    """
    names = undamaged(process)
    if not _damaged(process) and (any(_lost_end(process)) or _has_holes(process)):
        gone = set(TABLES) - set(process.files)
        return tuple(name for name in names if name.partition(":")[0] not in gone)
    return names


def undamaged(process: ProcessRecording) -> tuple[str, ...]:
    """The entries of `tables` of which no file is known to be damaged, as far as they were read."""
    unread = {table for problem in process.problems if problem.kind in UNREAD for table in problem.tables}
    return tuple(name for name in process.info.tables if name.partition(":")[0] not in unread)


def _has_holes(process: ProcessRecording) -> bool:
    """Whether events are missing between others; no column is read where the footers say that none is."""
    parts = [part for files in process.files.values() for part in files.parts if part.rows]
    span = max((p.last for p in parts), default=-1) + 1 - min((p.first for p in parts), default=0)
    return process.rows != span and bool(process.gaps())


def _damaged(process: ProcessRecording) -> bool:
    """Whether a file of a table can't be read."""
    return any(files.damaged for files in process.files.values())


def _damaged_part(process: ProcessRecording, files: TableFiles, path: Path) -> Problem:
    sound = [part for part in files.parts if part.path not in files.damaged]
    after = max((part.last for part in sound if part.path.name < path.name), default=None)
    behind = [part.first for part in sound if part.path.name > path.name]
    behind += [int(seq_of(batch)[0]) for batch in files.spool.batches[:1] if batch.num_rows]
    before = min(behind, default=None)
    rows = _missing_within(process, after, before)
    return Problem(
        kind=ProblemKind.DAMAGED_PART,
        where=f"{process.label}/{path.relative_to(process.folder).as_posix()}",
        what=f"{files.damaged[path]} and skipped: {files.name} rows {_span(after, before)} are missing"
        + (f", {amount(rows, 'event')} in all" if rows else ""),
        process=process.label,
        tables=(files.name,),
        after_seq=after,
        before_seq=before,
        rows=rows or None,
    )


def _missing_within(process: ProcessRecording, after: int | None, before: int | None) -> int:
    """Events missing in the span, of whichever table: what is known of the size of the loss."""
    low = -1 if after is None else after
    spans = [(max(a, low + 1), b if before is None else min(b, before)) for a, b in process.gaps()]
    return sum(b - a for a, b in spans if b > a)


def _span(after: int | None, before: int | None) -> str:
    if after is None and before is None:
        return "of the whole recording"
    if after is None:
        return f"before event {before}"
    return f"after event {after}" + ("" if before is None else f" and before event {before}")


def _torn_spool(process: ProcessRecording, files: TableFiles) -> Iterator[Problem]:
    if not files.spool.why:
        return
    rows = sum(batch.num_rows for batch in files.spool.batches)
    last = max((int(seq_of(batch).max()) for batch in files.spool.batches if batch.num_rows), default=None)
    yield Problem(
        kind=ProblemKind.TORN_SPOOL,
        where=f"{process.label}/spool/{files.name}.arrows",
        what=f"the last {amount(files.spool.torn_bytes, 'byte is', 'bytes are')} no whole batch: "
        f"{amount(rows, 'row')} before that {plural(rows, 'is', 'are')} used,"
        f" {files.name} rows {_span(last, None) if last is not None else 'behind them'} may be missing",
        process=process.label,
        tables=(files.name,),
        after_seq=last,
    )


def _misfits(process: ProcessRecording, files: TableFiles) -> Iterator[Problem]:
    for column, why in files.misfits.items():
        yield Problem(
            kind=ProblemKind.DAMAGED_COLUMN,
            where=f"{process.label}/{files.name}",
            what=f"column {column} has {why}: it counts as absent",
            process=process.label,
            tables=(files.name,),
        )


def _dropped(process: ProcessRecording) -> Iterator[Problem]:
    if "drop" not in process.files:
        return
    losses: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for row in process.table("drop").to_pylist():
        key = (row["table"] or "unknown", row["why"] or "no reason given")
        losses.setdefault(key, []).append((row["seq"], row["rows"] or 0))
    for (table, why), drops in losses.items():
        rows = sum(count for _, count in drops)
        yield Problem(
            kind=ProblemKind.DROPPED,
            where=process.label,
            what=f"{amount(rows, 'row')} of {table} {plural(rows, 'was', 'were')} dropped while recording ({why}), first near event {drops[0][0]}",
            process=process.label,
            tables=(table,),
            after_seq=drops[0][0] - 1,
            before_seq=drops[-1][0] + 1,
            rows=rows,
        )


def _missing_end(process: ProcessRecording) -> Iterator[Problem]:
    if process.clean is not False:
        return
    failure = process.info.raw.get("failure")
    what = f"the recorder gave up ({failure})" if failure else "the process was killed or is still running"
    yield Problem(
        kind=ProblemKind.MISSING_END,
        where=process.label,
        what=f"the end is missing: {what}; {_spooled(process)}"
        "what it did in the last second or so before that may be lost",
        process=process.label,
        tables=tuple(process.files),
        after_seq=process.last_seq,
    )


def _lost_end(process: ProcessRecording) -> Iterator[Problem]:
    """A process that ended in order says how many events it recorded; where no damaged file explains what is missing."""
    told = process.info.raw.get("events")
    if process.clean is not True or type(told) is not int or _damaged(process):
        return
    last = max((files.last for files in process.files.values()), default=-1)
    if told > last + 1:
        lost = told - last - 1
        yield Problem(
            kind=ProblemKind.MISSING_END,
            where=process.label,
            what=f"the end is missing: process.json names {amount(told, 'event')}, the last "
            f"{plural(lost, 'one is', f'{lost:,} are')} in no file",
            process=process.label,
            tables=tuple(process.files),
            after_seq=last if last >= 0 else None,
            rows=lost,
        )


def _spooled(process: ProcessRecording) -> str:
    batches = [(each, batch) for each in process.files.values() for batch in each.spool.batches]
    seqs = np.concatenate([seq_of(batch) for _, batch in batches]) if batches else np.empty(0, np.int64)
    ends = [each.end for each in process.files.values() if each.end is not None]
    read = amount(len(seqs), "event not yet sealed was", "events not yet sealed were")
    text = f"{read} read from the spool; " if len(seqs) else ""
    if ends:
        late = int(np.count_nonzero(seqs >= ends[0]))
        text += f"{late} of them {plural(late, 'lies', 'lie')} behind event {ends[0]}, which never reached the disk, and {plural(late, 'is', 'are')} left out; "
    return text
