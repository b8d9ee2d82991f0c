"""OWN-RACE: whether the device was done with a page before someone else got it."""

from __future__ import annotations

from speckv_debug.checks.evidence import number
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import kept, united_verdict, unjudged, verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.replay.page_history import ranges
from speckv_debug.replay.reuses import Reuses
from speckv_debug.replay.row_reuses import RowReuses
from speckv_debug.replay.united import United

UNTIMED = "no device times were recorded: the order on the host alone does not tell"
OVERLAPPING = "forwards of two lives of the row overlap: whether the first had copied what the row names is not recorded"
PARTLY = "the device times of a forward that decides it were not recorded"


@rule(
    "OWN-RACE",
    severity=ERROR,
    needs=("alloc", "forward"),
    scope="reuses",
    look_at="Scheduler.process_batch_result (frees under overlap), forward_stream",
    follows=("OWN-ROW", "OWN-ALIAS", "LEN-STALE"),
)
def done_before_it_is_reused(reused: United) -> Judgement:
    """A page that is granted again is used by its new holder only when the forwards of those before it are done.

    Judged by `begin_ns` and `end_ns` of forwards, which the device took; those of one stream never overlap.

    Rows that are handed on are looked at likewise. Where the forwards of two lives of a row overlap it is unknown: a launch
    may have copied the row's entries before, and no recording says so.

    Exceptions: pages freed while a launched forward still uses them, where the new holder runs behind it; a page that its
    holder gave up while it ran on is not judged. Without device times nothing can be told.
    """
    pages, rows = reused.parts
    return united_verdict(reused, (_judge_pages(pages), _judge_rows(rows)))


def _judge_rows(rows: RowReuses) -> Judgement:
    """A row runs anew when the life before is done with it, or has copied what it names."""
    if not len(rows):  # nothing is read to say nothing
        return kept(0)
    return unjudged({PARTLY: ~rows.known, OVERLAPPING: rows.overlapping}, len(rows))


def _judge_pages(reuses: Reuses) -> Judgement:
    reasons = {PARTLY if reuses.timed else UNTIMED: ~reuses.known}
    return verdict(reuses.overlapping, lambda i: _explain(reuses, i), reasons)


def _explain(reuses: Reuses, i: int) -> Details:
    place, begin, end = reuses.place(i), int(reuses.begins[i]), int(reuses.ends[i])
    pages, who = tuple(reuses.pages(i).tolist()), reuses.forward.text_at("request", int(reuses.user[i]))
    before = "another request" if who is None else f"request {who}"
    return Details(
        message=f"request {place.request} got pages {ranges(pages)} and began to run {(end - begin) / 1e3:.1f} us before a "
        f"forward of {before}, which had pages of these, was done",
        expected=f"a begin at or behind {end} ns",
        actual=f"begin {begin} ns",
        pages=pages,
        evidence=(_forwards(reuses, i),),
    )


def _forwards(reuses: Reuses, i: int) -> Evidence:
    rows: list[tuple[Cell, ...]] = []
    for what, event in (("had the pages", int(reuses.user[i])), ("got the pages", int(reuses.first[i]))):
        columns = reuses.forward
        cells = (columns.int_at(name, event) for name in ("seq", "step"))
        times = (number(columns.ints(name)[event]) for name in ("begin_ns", "end_ns"))
        rows.append((what, *cells, columns.text_at("mode", event), columns.text_at("request", event), *times))
    names = ("", "seq", "step", "mode", "request", "begin_ns", "end_ns")
    return Evidence(title="two forwards on the device", columns=names, rows=tuple(rows), marked=(1,))
