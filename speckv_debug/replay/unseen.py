"""What a recording can't tell about the past, so that an answer says where it may lack something."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from speckv_debug.model.text import events_missing
from speckv_debug.recording.reader import ProcessRecording

NOT_FROM_START = "the recording did not see the process start"
FEW_HOLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """Events that are not in the recording: those in `[first, end)` of `seq`, None where that is open."""

    first: int | None
    end: int | None
    why: str


def unseen(
    process: ProcessRecording, tables: Collection[str], until_seq: int | None = None
) -> tuple[Unseen, ...]:
    """What may be missing of these tables up to `until_seq`, by where it begins; nothing if the recording is whole."""
    found = [*_head(process), *_holes(process), *_problems(process, tables), *_partly(process, tables)]
    kept = [each for each in found if until_seq is None or each.first is None or each.first <= until_seq]
    return tuple(sorted(kept, key=lambda each: (-1 if each.first is None else each.first, each.why)))


def reasons(found: Collection[Unseen]) -> tuple[str, ...]:
    """What to tell a person, in this order; more than a few holes between events are told as one."""
    holes = [
        each
        for each in found
        if each.first and each.end and each.why == events_missing([(each.first, each.end)])
    ]
    if len(holes) <= FEW_HOLES:
        return tuple(each.why for each in found)
    many = events_missing([(each.first or 0, each.end or 0) for each in holes])
    others = set(holes[1:])
    return tuple(many if each is holes[0] else each.why for each in found if each not in others)


def _head(process: ProcessRecording) -> Iterator[Unseen]:
    if not process.info.from_start:
        yield Unseen(first=None, end=None, why=NOT_FROM_START)
    elif count := process.missing_head:
        yield Unseen(first=0, end=count, why=events_missing([(0, count)]))


def _holes(process: ProcessRecording) -> Iterator[Unseen]:
    for first, end in process.gaps():
        yield Unseen(first=first, end=end, why=events_missing([(first, end)]))


def _problems(process: ProcessRecording, tables: Collection[str]) -> Iterator[Unseen]:
    for problem in process.problems:
        if not problem.tables or set(problem.tables) & set(tables):
            first = None if problem.after_seq is None else problem.after_seq + 1
            yield Unseen(first=first, end=problem.before_seq, why=problem.what)


def _partly(process: ProcessRecording, tables: Collection[str]) -> Iterator[Unseen]:
    """Tables of which only some events were recorded, or none; what an engine does not have is not told apart."""
    listed = {name.partition(":")[0] for name in process.info.tables}
    missing = [name for name in tables if name not in listed]
    partly = [name for name in tables if name in listed and not process.info.records(name)]
    for names, what in ((missing, "not recorded whole"), (partly, "recorded in part")):
        if names:
            yield Unseen(first=None, end=None, why=f"{', '.join(names)}: {what}")
